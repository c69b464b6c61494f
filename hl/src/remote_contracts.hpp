// SPDX-License-Identifier: BSD-3-Clause
// The calls that a node serves for its shared memory. Offsets count from the start of the grant's window.
#pragma once

#include <cinnabar/bulk/blocks.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/chunk_sums.hpp>
#include <cinnabar/hl/remote_call.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <optional>
#include <span>
#include <vector>

namespace cinnabar::hl::remote_calls {

struct Word {
    RemoteGrant grant;
    std::uint64_t offset = 0;
    detail::WordOp op = detail::WordOp::fetch_add;
    std::uint8_t bytes = 8;  // 4 or 8
    std::uint64_t value = 0;
    std::uint64_t expected = 0;
};
struct Look {
    RemoteGrant grant;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};
struct Put {
    RemoteGrant grant;
    std::uint64_t offset = 0;
    std::optional<std::uint32_t> notify;
    std::span<const std::byte> contents;
};
struct Piece {
    std::uint32_t grant = 0;  // index
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};
// Fills the caller's memory with the pieces, in their order.
struct Gather {
    std::vector<RemoteGrant> grants;
    std::vector<Piece> pieces;
    Bulk into;
};
struct Scatter {
    std::vector<RemoteGrant> grants;
    std::vector<Piece> pieces;
    std::optional<std::uint32_t> notify;
    Bulk from;
};

// A list of blocks in its encoded form: u32 size, then as in docs/wire-format-bulk.md.
struct BlockList {
    static constexpr std::uint64_t proc_shape = 0x6b636f6c62;
    static constexpr bool proc_borrows = false;
    bulk::Blocks list;

    template <class P>
    void proc(P& p) {
        if constexpr (P::decoding) {
            ByteReader reader(p.view(p.count(1, sizeof(bulk::Blocks::Run))));
            const Errc bad = p.ok() ? bulk::Blocks::decode(reader, list) : Errc::ok;
            if (bad != Errc::ok) p.fail(bad);
        } else if constexpr (P::sizing) {
            p.count(list.encoded_bytes());
            p.raw(nullptr, list.encoded_bytes());
        } else {
            std::vector<std::byte> encoded(list.encoded_bytes());
            ByteWriter writer(encoded);
            list.encode(writer);
            p.count(encoded.size());
            p.raw(encoded.data(), encoded.size());
        }
    }
};
// Fills the caller's memory with the blocks, in their order.
struct GatherBlocks {
    RemoteGrant grant;
    BlockList blocks;
    Bulk into;
};
struct ScatterBlocks {
    RemoteGrant grant;
    BlockList blocks;
    std::optional<std::uint32_t> notify;
    Bulk from;
};

// The same four, whose chunks are compared when they have arrived. Reads are read back.
struct CheckedGather {
    std::vector<RemoteGrant> grants;
    std::vector<Piece> pieces;
    Bulk into;
    std::uint32_t again_max = 0;
};
struct CheckedScatter {
    std::vector<RemoteGrant> grants;
    std::vector<Piece> pieces;
    std::optional<std::uint32_t> notify;
    Bulk from;
    ChunkSums sums;  // of remote_chunk_bytes each
    std::uint32_t again_max = 0;
};
struct CheckedGatherBlocks {
    RemoteGrant grant;
    BlockList blocks;
    Bulk into;
    std::uint32_t again_max = 0;
};
struct CheckedScatterBlocks {
    RemoteGrant grant;
    BlockList blocks;
    std::optional<std::uint32_t> notify;
    Bulk from;
    ChunkSums sums;
    std::uint32_t again_max = 0;
};

// Of a checked write: the smallest buffer through which it may have to go.
inline constexpr std::uint64_t remote_chunk_bytes = std::uint64_t{64} << 10;

inline constexpr Rpc<RemoteReply(Word)> word{"cinnabar.remote.word"};
inline constexpr Rpc<RemoteReply(Look)> look{"cinnabar.remote.look"};
inline constexpr Rpc<RemoteReply(Look)> map{"cinnabar.remote.map"};
inline constexpr Rpc<RemoteReply(Put)> put{"cinnabar.remote.put"};
inline constexpr Rpc<RemoteReply(Put)> put_and_notify{"cinnabar.remote.put_and_notify"};
inline constexpr Rpc<RemoteReply(Gather)> gather{"cinnabar.remote.gather"};
inline constexpr Rpc<RemoteReply(Scatter)> scatter{"cinnabar.remote.scatter"};
inline constexpr Rpc<RemoteReply(GatherBlocks)> gather_blocks{"cinnabar.remote.gather_blocks"};
inline constexpr Rpc<RemoteReply(ScatterBlocks)> scatter_blocks{"cinnabar.remote.scatter_blocks"};
inline constexpr Rpc<RemoteReply(CheckedGather)> checked_gather{"cinnabar.remote.checked_gather"};
inline constexpr Rpc<RemoteReply(CheckedScatter)> checked_scatter{"cinnabar.remote.checked_scatter"};
inline constexpr Rpc<RemoteReply(CheckedGatherBlocks)> checked_gather_blocks{"cinnabar.remote.checked_gather_blocks"};
inline constexpr Rpc<RemoteReply(CheckedScatterBlocks)> checked_scatter_blocks{
    "cinnabar.remote.checked_scatter_blocks"};

}  // namespace cinnabar::hl::remote_calls
