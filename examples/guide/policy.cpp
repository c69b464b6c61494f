// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "In production": who may call.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <memory>
#include <string>

using namespace cinnabar;

inline constexpr Rpc<int()> get{"store.get"};
inline constexpr Rpc<void(int)> put{"store.put"};

// The same lines may stand in a file: Policy::load(path).
std::shared_ptr<const Policy> rules() {
    return Policy::parse(
               "writers  allow  key:ann,cert:build-*  store.*\n"
               "readers  allow  proven,local          store.get\n"
               "others   deny   anyone                *\n",
               [](const AuditEvent& event) {  // must be short: hand it to a thread that writes it
                   std::cout << event.rpc << (event.allowed ? " allowed by " : " refused by ") << event.rule << '\n';
               })
        .value();
}

int main() {
    int value = 7;
    NodeOptions options;
    options.rpc.policy = rules();
    options.progress_thread = false;
    auto server = Node::listen("shm://", options).value();
    server.serve(get, [&] { return value; }).value();
    server.serve(put, [&](int wanted) { value = wanted; }).value();

    auto [client, peer] = Node::connect(server.address()).value();
    auto got = client.call(get, peer).future();
    while (!got.ready()) server.poll();
    std::cout << "got " << got.get().value() << '\n';
    auto refused = client.call(put, peer, 8).future();
    while (!refused.ready()) server.poll();
    std::cout << to_string(refused.get().code()) << ", and the value is " << value << '\n';
}
