// SPDX-License-Identifier: BSD-3-Clause
// The caller's side of operations on lists of blocks.
#include "remote_contracts.hpp"
#include "remote_made.hpp"

#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/hl/chunk_sums.hpp>
#include <cinnabar/hl/remote_blocks.hpp>

#include <utility>

namespace cinnabar::hl {
namespace detail {
namespace {

// Converts the list to offsets from the start of the grant's window.
Result<bulk::Blocks> inside(const RemoteBytes& token, const bulk::Blocks& blocks) {
    if (blocks.empty() || blocks.end() > token.bytes())
        return Error(Errc::invalid_argument, "the blocks do not lie inside the memory that the token names");
    return blocks.shifted(token.offset());
}

template <typename R, typename In>
RemoteMade made_blocks(const NodeRef& node, const R& rpc, const RemoteBytes& token, const bulk::Blocks& blocks,
                       std::uint64_t local_bytes, na::Access access, const RemoteOptions& options, In arguments) {
    auto list = inside(token, blocks);
    if (!list) return refused_call(node, std::move(list).error());
    if (blocks.bytes() != local_bytes)
        return refused_call(node, Error(Errc::invalid_argument, "the local memory does not have the size of the list"));
    arguments.grant = token.grant();
    arguments.blocks.list = *std::move(list);
    return made(node, rpc, token, token.bytes(), access, options, arguments);
}

}  // namespace

RemoteMade make_read_blocks(const NodeRef& node, const RemoteBytes& from, const bulk::Blocks& blocks,
                            const bulk::Region& into, const RemoteOptions& options) {
    if (options.checked) {
        if (auto refused = not_read_back(into)) return refused_call(node, *std::move(refused));
        remote_calls::CheckedGatherBlocks checked;
        checked.into = Bulk(into, na::Access::read_write);
        checked.again_max = options.again_max;
        return made_blocks(node, remote_calls::checked_gather_blocks, from, blocks, into.bytes(), na::Access::read,
                           options, std::move(checked));
    }
    remote_calls::GatherBlocks arguments;
    arguments.into = Bulk(into, na::Access::write);
    return made_blocks(node, remote_calls::gather_blocks, from, blocks, into.bytes(), na::Access::read, options,
                       std::move(arguments));
}

RemoteMade make_write_blocks(const NodeRef& node, const RemoteBytes& to, const bulk::Blocks& blocks,
                             const bulk::Region& from, const RemoteOptions& options) {
    if (options.checked) {
        if (from.is_far()) return refused_call(node, no_sums_of_far_memory());
        remote_calls::CheckedScatterBlocks checked;
        checked.notify = options.notify;
        checked.from = Bulk(from, na::Access::read);
        checked.sums = ChunkSums::of(from, remote_calls::remote_chunk_bytes);
        checked.again_max = options.again_max;
        return made_blocks(node, remote_calls::checked_scatter_blocks, to, blocks, from.bytes(), na::Access::write,
                           options, std::move(checked));
    }
    remote_calls::ScatterBlocks arguments;
    arguments.notify = options.notify;
    arguments.from = Bulk(from, na::Access::read);
    return made_blocks(node, remote_calls::scatter_blocks, to, blocks, from.bytes(), na::Access::write, options,
                       std::move(arguments));
}

}  // namespace detail

namespace {

// If the local blocks are not adjacent, one call moves at most this many of them.
constexpr std::uint64_t local_blocks_max = bulk::descriptor_segments_max / 2;

bool without_gap(const bulk::Blocks& blocks, bulk::BlockPiece& piece) noexcept {
    return bulk::BlockWalk(blocks).next(blocks.bytes(), piece) && piece.bytes == blocks.bytes();
}

// Selects blocks of the region; a slice if they have no gaps.
Result<bulk::Region> pick(const bulk::Region& region, const bulk::Blocks& blocks, na::Access access) {
    bulk::BlockPiece piece;
    const bool one = without_gap(blocks, piece);
    if (one && blocks.end() <= region.bytes()) return region.slice(piece.offset, piece.bytes);
    return region.select(blocks, access);
}

// What the owner of the remote memory does with the local one in a read.
na::Access read_access(const RemoteOptions& options) noexcept {
    return options.checked ? na::Access::read_write : na::Access::write;
}

Error unlike() {
    return {Errc::invalid_argument, "give as many local blocks as remote ones, each of the plan's block_bytes"};
}

}  // namespace

Result<TransferPlan> TransferPlan::make(const NodeRef& node, const RemoteBytes& remote, const bulk::Region& local,
                                        std::uint64_t block_bytes) {
    if (remote.empty() || local.bytes() == 0 || block_bytes == 0)
        return Error(Errc::invalid_argument, "a plan needs a token, a region, and blocks of at least one byte");
    return TransferPlan(node, remote, local, block_bytes);
}

RemoteMany TransferPlan::read(Numbers remote, Numbers local, const RemoteOptions& options) const {
    return post(&detail::make_read_blocks, read_access(options), bulk::Blocks::indexed(block_bytes_, remote),
                bulk::Blocks::indexed(block_bytes_, local), options);
}

RemoteMany TransferPlan::write(Numbers remote, Numbers local, const RemoteOptions& options) const {
    return post(&detail::make_write_blocks, na::Access::read, bulk::Blocks::indexed(block_bytes_, remote),
                bulk::Blocks::indexed(block_bytes_, local), options);
}

RemoteMany TransferPlan::read(const bulk::Blocks& remote, const bulk::Blocks& local,
                              const RemoteOptions& options) const {
    return post(&detail::make_read_blocks, read_access(options), remote, local, options);
}

RemoteMany TransferPlan::write(const bulk::Blocks& remote, const bulk::Blocks& local,
                               const RemoteOptions& options) const {
    return post(&detail::make_write_blocks, na::Access::read, remote, local, options);
}

RemoteMany TransferPlan::post(Make call_of, na::Access of_local, const Result<bulk::Blocks>& remote,
                              const Result<bulk::Blocks>& local, const RemoteOptions& options) const {
    std::vector<detail::RemoteMade> calls;
    const auto refuse = [&](Error error) {
        calls.clear();
        calls.push_back(detail::refused_call(node_, std::move(error)));
        return RemoteMany(std::move(calls), 0);
    };
    if (!remote || !local) return refuse(remote ? local.error() : remote.error());
    if (remote->count() != local->count() || remote->block_bytes() != block_bytes_ ||
        local->block_bytes() != block_bytes_)
        return refuse(unlike());
    bulk::BlockPiece piece;
    const bool dense = without_gap(*local, piece);
    bulk::BlockParts here(*local), there(*remote);
    bulk::Blocks here_part, there_part;
    const std::uint64_t in_one = dense ? bulk::blocks_max : local_blocks_max;
    while (here.next(in_one, here_part) && there.next(in_one, there_part)) {
        auto region = pick(local_, here_part, of_local);
        if (!region) return refuse(std::move(region).error());
        calls.push_back(call_of(node_, remote_, there_part, *region, options));
    }
    if (options.notify && calls.size() > 1) return refuse(detail::too_many_to_notify());
    return RemoteMany(std::move(calls), remote->bytes());
}

}  // namespace cinnabar::hl
