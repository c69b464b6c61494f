// SPDX-License-Identifier: BSD-3-Clause
// The calls behind the operations on remote memory. Each function takes the tokens and the local memory, and returns a
// call that has not been sent yet. A call with `RemoteMade::refused` set must not be sent.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/bulk.hpp>
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
    // Whether an operation with a token that was received in a request calls the owner that the token names, at an
    // address that the sender of the request chose. False: the operation calls the sender.
    bool follow_owner = false;
    // Writes only: the value that the owner is given once the bytes are in place (Shared::on_notified). If there are
    // several owners, each is given the value once its own bytes are in place. too_large: the write does not fit into
    // one call per owner. A call has room for remote_parts_max parts, of remote_grants_max grants, and for 32,768 local
    // blocks that are not adjacent.
    std::optional<std::uint32_t> notify = {};
    // For reads and writes of spans, parts, lists of blocks and plans: whether each chunk is compared after it has
    // arrived, and moved again if it is damaged. The call ends with bad_checksum if a chunk is damaged after
    // `again_max` chunks, or again_max_default if that is less, were moved again. All bytes move in bulk, however few.
    // Neither side may change its memory during the call, or the memory looks damaged. no_such_rpc: the owner's version
    // of this library is too old.
    //
    // A write sends a checksum for each 64 KiB, with which the owner compares the bytes. Damaged bytes never reach host
    // memory that the owner shares. unsupported: a write from a file or device memory of this side; a write of a list
    // of blocks to a file or device memory of the owner; or a write to both host memory and a file or device memory of
    // one owner.
    //
    // After a read, the owner reads the bytes back to compare them, which doubles the traffic. permission: the local
    // region of a read is not read_write.
    bool checked = false;
    std::uint32_t again_max = again_max_default;
};
static_assert(std::is_trivially_destructible_v<RemoteOptions>);

// The maximum number of bytes that travel inside the call of a read or write; a larger read or write lends its local
// memory to the call.
inline constexpr std::size_t remote_inline_bytes_max = 4096;
// The maximum number of parts in one call; read_many and write_many make several calls if there are more parts.
inline constexpr std::size_t remote_parts_max = 4096;
inline constexpr std::size_t remote_grants_max = 64;

// One part of an operation over many tokens: a token, and local memory of the same size.
struct RemoteRead {
    RemoteBytes from;
    Bytes into;
};
struct RemoteWrite {
    RemoteBytes to;
    ConstBytes from;
};

// The same with far memory as the local memory (Region::is_far); either direction.
struct RemotePart {
    RemoteBytes remote;
    bulk::Region local;
};

namespace detail {

enum class WordOp : std::uint8_t { fetch_add = 0, compare_swap = 1, exchange = 2 };

struct RemoteMade {
    Pending<RemoteReply> call;
    std::optional<Error> refused;  // takes the place of the call's error
    bool not_followed = false;     // the token names an owner, but the sender is called (follow_owner)
};

// Whether a read or write of `bytes` travels inside its call. False: the call lends the local memory.
[[nodiscard]] inline bool is_inline(const RemoteBytes& token, std::size_t bytes) noexcept {
    return bytes <= remote_inline_bytes_max && !token.is_far();
}
[[nodiscard]] inline bool is_inline(const RemoteBytes& token, std::size_t bytes,
                                    const RemoteOptions& options) noexcept {
    return !options.checked && is_inline(token, bytes);
}
// The error of an operation that far memory does not have.
[[nodiscard]] CINNABAR_API Error not_of_far_memory();

// The reply contains the bytes. make_read also works this way if is_inline().
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
// Always inside the call. Requires: at most remote_inline_bytes_max bytes.
[[nodiscard]] CINNABAR_API RemoteMade make_put(const NodeRef& node, const RemoteBytes& to, ConstBytes from,
                                               const RemoteOptions& options);
// `value`: the number to add, or the new value. The reply contains the old one.
[[nodiscard]] CINNABAR_API RemoteMade make_word(const NodeRef& node, const RemoteBytes& at, WordOp op,
                                                std::uint64_t value, std::uint64_t expected,
                                                const RemoteOptions& options);
// One call per owner, or several if there are many parts; ordered by the first part of each.
[[nodiscard]] CINNABAR_API std::vector<RemoteMade> make_reads(const NodeRef& node, std::span<const RemoteRead> parts,
                                                              const RemoteOptions& options);
[[nodiscard]] CINNABAR_API std::vector<RemoteMade> make_writes(const NodeRef& node, std::span<const RemoteWrite> parts,
                                                               const RemoteOptions& options);

// The same with far local memory. Requires: each region is far, and has as many bytes as its token.
[[nodiscard]] CINNABAR_API std::vector<RemoteMade> make_far_reads(const NodeRef& node,
                                                                  std::span<const RemotePart> parts,
                                                                  const RemoteOptions& options);
[[nodiscard]] CINNABAR_API std::vector<RemoteMade> make_far_writes(const NodeRef& node,
                                                                   std::span<const RemotePart> parts,
                                                                   const RemoteOptions& options);

// Converts the error of the call into that of the operation.
[[nodiscard]] CINNABAR_API Error remote_error(std::optional<Error>& refused, bool not_followed, Error error);

}  // namespace detail
}  // namespace cinnabar::hl
