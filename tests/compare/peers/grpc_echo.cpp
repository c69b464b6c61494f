// SPDX-License-Identifier: BSD-3-Clause
// Echo over gRPC, with the callbacks that generated code would register, and a client that drives one completion queue:
// `serve ADDRESS`, `call ADDRESS BYTES DEPTH SECONDS`. A reply consists of the first 64 bytes of the message. If
// ECHO_TLS is set, it names a folder with ca.pem, server.pem, server.key, client.pem and client.key, and both sides
// authenticate by TLS.
#include "echo.hpp"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>

namespace {

using namespace cinnabar::compare;
using grpc::ByteBuffer;

constexpr const char* method = "/cinnabar.compare.Echo/Call";
constexpr int message_bytes_max = 16 << 20;

std::string text_of(const ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    std::string text;
    if (!buffer.Dump(&slices).ok()) return text;
    for (const grpc::Slice& each : slices) text.append(reinterpret_cast<const char*>(each.begin()), each.size());
    return text;
}

ByteBuffer buffer_of(std::string_view text) {
    const grpc::Slice slice(text.data(), text.size());
    return {&slice, 1};
}

// Reads only the part of each slice that the reply needs.
ByteBuffer reply_to(const ByteBuffer& request) {
    std::vector<grpc::Slice> slices;
    std::string head;
    if (request.Dump(&slices).ok()) {
        for (std::size_t i = 0; i < slices.size() && head.size() < reply_bytes_max; ++i)
            head.append(reinterpret_cast<const char*>(slices[i].begin()),
                        std::min(slices[i].size(), reply_bytes_max - head.size()));
    }
    return buffer_of(head);
}

std::string file(const std::string& name) {
    std::ifstream in(std::string(std::getenv("ECHO_TLS")) + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::shared_ptr<grpc::ServerCredentials> server_credentials() {
    if (!std::getenv("ECHO_TLS")) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = file("ca.pem");
    options.pem_key_cert_pairs = {{file("server.key"), file("server.pem")}};
    return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> client_credentials() {
    if (!std::getenv("ECHO_TLS")) return grpc::InsecureChannelCredentials();
    return grpc::SslCredentials({file("ca.pem"), file("client.key"), file("client.pem")});
}

class Echo : public grpc::Service {
  public:
    Echo() {
        AddMethod(new grpc::internal::RpcServiceMethod(method, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
        MarkMethodCallback(0,
                           new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
                               [](grpc::CallbackServerContext* context, const ByteBuffer* request, ByteBuffer* reply) {
                                   *reply = reply_to(*request);
                                   auto* const reactor = context->DefaultReactor();
                                   reactor->Finish(grpc::Status::OK);
                                   return reactor;
                               }));
    }
};

int serve(const std::string& address) {
    Echo echo;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, server_credentials());
    builder.SetMaxReceiveMessageSize(message_bytes_max);
    builder.RegisterService(&echo);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (!server) return fail("serve", "it does not start");
    tell_ready();
    server->Wait();
    return 0;
}

struct One {
    grpc::ClientContext context;
    ByteBuffer reply;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<ByteBuffer>> reader;
};

int call(const std::string& address, const Calls& calls) {
    grpc::GenericStub stub(grpc::CreateChannel(address, client_credentials()));
    grpc::CompletionQueue queue;
    const std::string request = pattern(calls.bytes);
    const ByteBuffer message = buffer_of(request);
    const auto start = [&] {
        auto one = std::make_unique<One>();
        one->reader = stub.PrepareUnaryCall(&one->context, method, message, &queue);
        one->reader->StartCall();
        One* const tag = one.release();
        tag->reader->Finish(&tag->reply, &tag->status, tag);
    };
    for (unsigned i = 0; i < calls.depth; ++i) start();
    Count count(calls.seconds);
    void* tag = nullptr;
    bool ok = false;
    for (unsigned left = calls.depth; left > 0 && queue.Next(&tag, &ok);) {
        const std::unique_ptr<One> one(static_cast<One*>(tag));
        if (!one->status.ok()) return fail("call", one->status.error_message().c_str());
        if (!is_reply(text_of(one->reply), request)) return fail("call", "a wrong reply");
        count.add();
        if (count.goes_on()) {
            start();
        } else {
            --left;
        }
    }
    return count.tell();
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, &serve, &call); }
