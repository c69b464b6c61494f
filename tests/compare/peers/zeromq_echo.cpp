// SPDX-License-Identifier: BSD-3-Clause
// Echo over ZeroMQ with ROUTER and DEALER: `serve ADDRESS`, `call ADDRESS BYTES DEPTH SECONDS`. A reply consists of the
// first 64 bytes of the message.
#include "echo.hpp"

#include <zmq.h>

#include <algorithm>

namespace {

using namespace cinnabar::compare;

struct Socket {
    Socket(void* context, int kind) : handle(zmq_socket(context, kind)) {
        const int no_limit = 0;
        zmq_setsockopt(handle, ZMQ_SNDHWM, &no_limit, sizeof no_limit);
        zmq_setsockopt(handle, ZMQ_RCVHWM, &no_limit, sizeof no_limit);
    }
    ~Socket() {
        const int at_once = 0;
        zmq_setsockopt(handle, ZMQ_LINGER, &at_once, sizeof at_once);
        zmq_close(handle);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    void* const handle;
};

int serve(void* context, const std::string& address) {
    const Socket socket(context, ZMQ_ROUTER);
    if (zmq_bind(socket.handle, address.c_str()) != 0) return fail("bind", zmq_strerror(zmq_errno()));
    tell_ready();
    std::vector<char> sender(256);
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (;;) {
        const int name = zmq_recv(socket.handle, sender.data(), sender.size(), 0);
        if (name < 0 || zmq_msg_recv(&message, socket.handle, 0) < 0) return fail("receive", zmq_strerror(zmq_errno()));
        const std::size_t bytes = std::min(zmq_msg_size(&message), reply_bytes_max);
        zmq_send(socket.handle, sender.data(), static_cast<std::size_t>(name), ZMQ_SNDMORE);
        zmq_send(socket.handle, zmq_msg_data(&message), bytes, 0);
    }
}

int call(void* context, const std::string& address, const Calls& calls) {
    const Socket socket(context, ZMQ_DEALER);
    if (zmq_connect(socket.handle, address.c_str()) != 0) return fail("connect", zmq_strerror(zmq_errno()));
    const std::string request = pattern(calls.bytes);
    std::string reply(reply_bytes_max, 0);
    const auto send = [&] { zmq_send(socket.handle, request.data(), request.size(), 0); };
    for (unsigned i = 0; i < calls.depth; ++i) send();
    Count count(calls.seconds);
    while (count.goes_on()) {
        const int bytes = zmq_recv(socket.handle, reply.data(), reply.size(), 0);
        if (bytes < 0 || !is_reply({reply.data(), static_cast<std::size_t>(bytes)}, request))
            return fail("call", "a wrong reply");
        count.add();
        send();
    }
    return count.tell();
}

}  // namespace

int main(int argc, char** argv) {
    void* const context = zmq_ctx_new();
    const int status = run(
        argc, argv, [&](const std::string& address) { return serve(context, address); },
        [&](const std::string& address, const Calls& calls) { return call(context, address, calls); });
    zmq_ctx_term(context);
    return status;
}
