// SPDX-License-Identifier: BSD-3-Clause
// The calls behind the operations on remote memory. Each takes the tokens and the memory of this side and returns a
// call that is not sent yet; `RemoteMade::refused` says why it must not be sent.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/remote_reply.hpp>
#include <cinnabar/hl/remote_token.hpp>

#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <vector>

namespace cinnabar::hl {

// Must stay trivially destructible; see CallOptions.
struct RemoteOptions {
    std::optional<Microseconds> deadline = {};  // as CallOptions::deadline
    const std::stop_token* stop = nullptr;      // as CallOptions::stop
    // For a token that came in a request: calls the owner that it names, at an address that the sender chose. Without
    // it the sender is called.
    bool follow_owner = false;
    // write: the owner is told this value once the bytes are in place (Shared::on_notified).
    std::optional<std::uint32_t> notify = {};
};
static_assert(std::is_trivially_destructible_v<RemoteOptions>);

// Reads and writes of at most so many bytes travel inside their call; larger ones lend the memory of this side to it.
inline constexpr std::size_t remote_inline_bytes_max = 4096;
// What one call names at most; read_many and write_many make several.
inline constexpr std::size_t remote_parts_max = 4096;
inline constexpr std::size_t remote_grants_max = 64;

// A part of an operation over many: a token, and as many bytes of this side.
struct RemoteRead {
    RemoteBytes from;
    Bytes into;
};
struct RemoteWrite {
    RemoteBytes to;
    ConstBytes from;
};

namespace detail {

enum class WordOp : std::uint8_t { fetch_add = 0, compare_swap = 1, exchange = 2 };

struct RemoteMade {
    Pending<RemoteReply> call;
    std::optional<Error> refused;  // instead of what the call says
    bool not_followed = false;     // the token names an owner that was not followed
};

// The reply has the bytes. make_read does so, too, up to remote_inline_bytes_max.
[[nodiscard]] CINNABAR_API RemoteMade make_look(const NodeRef& node, const RemoteBytes& from, std::uint64_t bytes,
                                                const RemoteOptions& options);
[[nodiscard]] CINNABAR_API RemoteMade make_read(const NodeRef& node, const RemoteBytes& from, Bytes into,
                                                const RemoteOptions& options);
[[nodiscard]] CINNABAR_API RemoteMade make_read(const NodeRef& node, const RemoteBytes& from, const bulk::Region& into,
                                                const RemoteOptions& options);
[[nodiscard]] CINNABAR_API RemoteMade make_write(const NodeRef& node, const RemoteBytes& to, ConstBytes from,
                                                 const RemoteOptions& options);
[[nodiscard]] CINNABAR_API RemoteMade make_write(const NodeRef& node, const RemoteBytes& to, const bulk::Region& from,
                                                 const RemoteOptions& options);
// `value`: to add, or the new one. The reply has the old one.
[[nodiscard]] CINNABAR_API RemoteMade make_word(const NodeRef& node, const RemoteBytes& at, WordOp op,
                                                std::uint64_t value, std::uint64_t expected,
                                                const RemoteOptions& options);
// One call for each owner, or several if the parts are many; their order is that of the first part of each.
[[nodiscard]] CINNABAR_API std::vector<RemoteMade> make_reads(const NodeRef& node, std::span<const RemoteRead> parts,
                                                              const RemoteOptions& options);
[[nodiscard]] CINNABAR_API std::vector<RemoteMade> make_writes(const NodeRef& node, std::span<const RemoteWrite> parts,
                                                               const RemoteOptions& options);

// The error of an operation whose call ended with `error`.
[[nodiscard]] CINNABAR_API Error remote_error(std::optional<Error>& refused, bool not_followed, Error error);

}  // namespace detail
}  // namespace cinnabar::hl
