// SPDX-License-Identifier: BSD-3-Clause
// The parties of forwarded memory: A lends it in a call to B, a gateway, which passes the Bulk on in a call to C.
#pragma once

#include <cinnabar/cinnabar.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::test {

struct Piece {
    std::string name;
    Bulk data;
};
struct Lent {
    Piece from;
    Bulk into;
};
inline constexpr Rpc<std::uint64_t(Piece)> put{"put"};
inline constexpr Rpc<std::uint64_t(Piece)> store{"store"};
inline constexpr Rpc<std::uint64_t(Lent)> copy{"copy"};
inline constexpr Rpc<std::uint64_t(Lent)> copy_at{"copy_at"};

inline constexpr std::size_t mib = std::size_t{1} << 20;

inline std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 31 >> 3);
    return made;
}

// Pulls the memory that is lent to it, and keeps the bytes.
struct Store {
    bool follow = true;
    std::vector<std::byte> kept;
    std::string said;  // the error of the last pull that failed
    Node node;         // last, since its handlers use the others until it ends

    Store(const std::vector<std::string>& uris, bool follow_owner = true)
        : follow(follow_owner), node(Node::listen(uris).value()) {
        (void)node.serve(store, [this](Request<Piece> request) -> Task<Result<std::uint64_t>> {
            kept.assign(request->data.size(), std::byte{0});
            auto pulled = co_await request->data.pull(Bytes(kept), {.follow_owner = follow});
            if (!pulled) said = pulled.error().message();
            co_return pulled;
        });
        (void)node.serve(copy_at, [](Request<Lent> request) -> Task<Result<std::uint64_t>> {
            CINNABAR_CO_TRY(auto buffer, request.node().buffers().take(request->from.data.size()));
            CINNABAR_CO_TRY(const auto pulled, co_await request->from.data.pull(buffer, {.follow_owner = true}));
            CINNABAR_CO_TRY(const auto pushed, co_await request->into.push(buffer, {.follow_owner = true}));
            co_return pulled + pushed;
        });
    }
};

// Forwards the memory that it is asked to store.
struct Gateway {
    Addr next;
    std::atomic<bool> store_ended = false;  // set when the call that `put` makes has ended
    std::string said;                       // its error
    Node node;                              // last, as in Store

    Gateway(const std::vector<std::string>& uris, const std::string& to, const NodeOptions& options = {})
        : node(Node::listen(uris, options).value()) {
        next = node.lookup(to).value();
        (void)node.serve(put, [this](Request<Piece> request) -> Task<Result<std::uint64_t>> {
            auto stored = co_await request.node().call(store, next, *request);
            if (!stored) said = stored.error().message();
            store_ended = true;
            co_return stored;
        });
        (void)node.serve(copy, [this](Request<Lent> request) -> Task<Result<std::uint64_t>> {
            co_return co_await request.node().call(copy_at, next, *request);
        });
        // Also forwards `store`, for a chain of two gateways.
        (void)node.serve(store, [this](Request<Piece> request) -> Task<Result<std::uint64_t>> {
            co_return co_await request.node().call(store, next, *request);
        });
    }
};

}  // namespace cinnabar::test
