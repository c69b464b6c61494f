// SPDX-License-Identifier: BSD-3-Clause
// Moves many blocks of remote memory in one operation. One list (bulk/blocks.hpp) names the blocks, so they need no
// tokens of their own:
//
//     const auto rows = bulk::Blocks::strided(0, 4096, 65536, 15000).value();     // every sixteenth page
//     Result<std::uint64_t> moved = co_await read_blocks(node, table.token(), rows, into);
//
//     const auto plan = TransferPlan::make(node, table.token(), cache, 4096).value();
//     co_await plan.read(numbers_there, numbers_here);                            // again and again
//
// A strided list takes about ten bytes on the wire, any other list two or three bytes per block. The owner gathers the
// blocks and moves them in bulk, as many per chunk as fit, so there are far fewer operations than blocks. Over verbs,
// whose operations take only a few local pieces and one remote piece each, local memory without gaps is faster. Errors:
// those of remote.hpp; invalid_argument: a list names blocks outside of its memory, or blocks that are written to
// overlap; permission: the owner finds a block outside of the grant.
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

// Reads or writes the blocks of the list. Offsets in the list count from the first byte of the token. The local region
// must have as many bytes as the list, and may itself come from Region::select. Returns the number of bytes moved.
[[nodiscard]] inline auto read_blocks(const NodeRef& node, const RemoteBytes& from, const bulk::Blocks& blocks,
                                      const bulk::Region& into, const RemoteOptions& options = {}) {
    return RemoteOp(detail::make_read_blocks(node, from, blocks, into, options), detail::ReadInto{{}, into.bytes()});
}
[[nodiscard]] inline auto write_blocks(const NodeRef& node, const RemoteBytes& to, const bulk::Blocks& blocks,
                                       const bulk::Region& from, const RemoteOptions& options = {}) {
    return RemoteOp(detail::make_write_blocks(node, to, blocks, from, options), detail::Wrote{from.bytes()});
}

// A transfer between blocks of remote memory and blocks of a local region. A plan is set up once, then used any number
// of times with only the numbers of the blocks. Block n of either memory is its bytes [n * block_bytes, (n + 1) *
// block_bytes). Copies of a plan share the region. Thread-safe. Must not outlive the node.
class CINNABAR_API TransferPlan {
  public:
    using Numbers = std::span<const std::uint32_t>;

    // invalid_argument: an empty token or region, or blocks of 0 bytes.
    [[nodiscard]] static Result<TransferPlan> make(const NodeRef& node, const RemoteBytes& remote,
                                                   const bulk::Region& local, std::uint64_t block_bytes);

    [[nodiscard]] std::uint64_t block_bytes() const noexcept { return block_bytes_; }
    [[nodiscard]] std::uint64_t remote_blocks() const noexcept { return remote_.bytes() / block_bytes_; }
    [[nodiscard]] std::uint64_t local_blocks() const noexcept { return local_.bytes() / block_bytes_; }

    // read copies block remote[i] to block local[i], for each i; write does the opposite. Returns the number of bytes
    // moved. Makes one call, or several calls at once if the local blocks are more pieces than a region can have.
    // invalid_argument: the lists differ in length, or a number is out of range.
    [[nodiscard]] RemoteMany read(Numbers remote, Numbers local, const RemoteOptions& options = {}) const;
    [[nodiscard]] RemoteMany write(Numbers remote, Numbers local, const RemoteOptions& options = {}) const;
    // Read and write with block lists of any kind whose blocks have block_bytes bytes.
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
