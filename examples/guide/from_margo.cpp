// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "From Margo and Thallium": providers, which tell several services of a process apart, and a handler
// that waits for the network without occupying a thread.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <map>
#include <string>

using namespace cinnabar;

inline constexpr Rpc<void(std::string, std::string)> put{"put"};
inline constexpr Rpc<std::optional<std::string>(std::string)> get{"get"};
inline constexpr Rpc<bool(std::string)> copy{"copy"};

struct Store {
    std::map<std::string, std::string> values;

    void serve_as(const Node& node, std::uint16_t id) {
        const auto keep = [this](const std::string& key, const std::string& value) { values[key] = value; };
        const auto find = [this](const std::string& key) { return value_of(key); };
        node.serve(put, keep, provider(id)).value();
        node.serve(get, find, provider(id)).value();
    }
    std::optional<std::string> value_of(const std::string& key) const {
        const auto found = values.find(key);
        return found == values.end() ? std::nullopt : std::optional(found->second);
    }
};

// From the first store to the second: two calls that wait, and no thread that does.
Task<Result<bool>> copy_over(Request<std::string> request) {
    const NodeRef node = request.node();
    const Addr here = node.self_addr();
    CINNABAR_CO_TRY(const auto value, co_await node.call(get, here, *request, {.provider = 1}));
    if (!value) co_return false;
    CINNABAR_CO_TRY_VOID(co_await node.call(put, here, *request, *value, {.provider = 2}));
    co_return true;
}

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    Store first, second;
    first.serve_as(server, 1);
    second.serve_as(server, 2);
    server.serve(copy, copy_over).value();

    auto [client, peer] = Node::connect(server.address()).value();
    client.call(put, peer, "color", "red", {.provider = 1}).wait().value();
    std::cout << "copied: " << client.call(copy, peer, "color").wait().value() << '\n';
    std::cout << client.call(get, peer, "color", {.provider = 2}).wait().value().value_or("none") << '\n';
}
