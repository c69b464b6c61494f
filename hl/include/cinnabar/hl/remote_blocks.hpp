// SPDX-License-Identifier: BSD-3-Clause
// Many blocks of remote memory in one operation, named by a list (bulk/blocks.hpp) in place of a token each:
//
//     const auto rows = bulk::Blocks::strided(0, 4096, 65536, 15000).value();     // every sixteenth page
//     Result<std::uint64_t> moved = co_await read_blocks(node, table.token(), rows, into);
//
//     const auto plan = TransferPlan::make(node, table.token(), cache, 4096).value();
//     co_await plan.read(numbers_there, numbers_here);                            // again and again
//
// The list travels in some ten bytes if it is strided, and in two or three a block otherwise. The owner gathers the
// blocks and moves them in bulk, as many in each chunk as fit, so there are not as many operations as blocks. Where one
// operation of a transport touches few local pieces and cannot cross pieces of the peer's (verbs), memory of this side
// without gaps is faster. Errors: those of remote.hpp; a list that does not fit its memory, or that overlaps where it
// is written, is invalid_argument, and permission where the owner finds it outside of the grant.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/blocks.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/remote_many.hpp>
#include <cinnabar/hl/remote_op.hpp>

#include <cstdint>
#include <span>

namespace cinnabar::hl {

namespace detail {

[[nodiscard]] CINNABAR_API RemoteMade make_read_blocks(const NodeRef& node, const RemoteBytes& from,
                                                       const bulk::Blocks& blocks, const bulk::Region& into,
                                                       const RemoteOptions& options);
[[nodiscard]] CINNABAR_API RemoteMade make_write_blocks(const NodeRef& node, const RemoteBytes& to,
                                                        const bulk::Blocks& blocks, const bulk::Region& from,
                                                        const RemoteOptions& options);

}  // namespace detail

// Offsets count from the first byte of the token. `into` has as many bytes as the list, and may itself be
// Region::select. The outcome is the number of bytes.
[[nodiscard]] inline auto read_blocks(const NodeRef& node, const RemoteBytes& from, const bulk::Blocks& blocks,
                                      const bulk::Region& into, const RemoteOptions& options = {}) {
    return RemoteOp(detail::make_read_blocks(node, from, blocks, into, options), detail::ReadInto{{}, into.bytes()});
}
[[nodiscard]] inline auto write_blocks(const NodeRef& node, const RemoteBytes& to, const bulk::Blocks& blocks,
                                       const bulk::Region& from, const RemoteOptions& options = {}) {
    return RemoteOp(detail::make_write_blocks(node, to, blocks, from, options), detail::Wrote{from.bytes()});
}

// A transfer between blocks of a remote memory and blocks of a region of this side, made once and posted as often as
// one likes: a post names the blocks and nothing else. Block n of either is its bytes [n * block_bytes, (n + 1) *
// block_bytes). Copies share the region. Thread-safe. Must not outlive the node.
class CINNABAR_API TransferPlan {
  public:
    using Numbers = std::span<const std::uint32_t>;

    // invalid_argument: an empty token or region, or blocks of 0 bytes.
    [[nodiscard]] static Result<TransferPlan> make(const NodeRef& node, const RemoteBytes& remote,
                                                   const bulk::Region& local, std::uint64_t block_bytes);

    [[nodiscard]] std::uint64_t block_bytes() const noexcept { return block_bytes_; }
    [[nodiscard]] std::uint64_t remote_blocks() const noexcept { return remote_.bytes() / block_bytes_; }
    [[nodiscard]] std::uint64_t local_blocks() const noexcept { return local_.bytes() / block_bytes_; }

    // Reads block remote[i] into block local[i], or writes it from there, for all i. The outcome is the number of
    // bytes. One call, or several under way together where the local blocks are more pieces than a region has.
    // invalid_argument: not as many of the one as of the other, or a number beyond the end.
    [[nodiscard]] RemoteMany read(Numbers remote, Numbers local, const RemoteOptions& options = {}) const;
    [[nodiscard]] RemoteMany write(Numbers remote, Numbers local, const RemoteOptions& options = {}) const;
    // The same for lists of any kind whose blocks have block_bytes.
    [[nodiscard]] RemoteMany read(const bulk::Blocks& remote, const bulk::Blocks& local,
                                  const RemoteOptions& options = {}) const;
    [[nodiscard]] RemoteMany write(const bulk::Blocks& remote, const bulk::Blocks& local,
                                   const RemoteOptions& options = {}) const;

  private:
    TransferPlan(const NodeRef& node, const RemoteBytes& remote, const bulk::Region& local,
                 std::uint64_t block_bytes) noexcept
        : node_(node), remote_(remote), local_(local), block_bytes_(block_bytes) {}
    using Make = detail::RemoteMade (*)(const NodeRef&, const RemoteBytes&, const bulk::Blocks&, const bulk::Region&,
                                        const RemoteOptions&);
    [[nodiscard]] RemoteMany post(Make call_of, na::Access of_local, const Result<bulk::Blocks>& remote,
                                  const Result<bulk::Blocks>& local, const RemoteOptions& options) const;

    NodeRef node_;
    RemoteBytes remote_;
    bulk::Region local_;
    std::uint64_t block_bytes_;
};

}  // namespace cinnabar::hl
