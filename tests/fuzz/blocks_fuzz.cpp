// SPDX-License-Identifier: BSD-3-Clause
// Lists of blocks: an accepted list stays within its bounds and limits, takes memory in proportion to its bytes, and
// encodes to the same bytes again.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/blocks.hpp>

#include <vector>

using namespace cinnabar;
using bulk::Blocks;

namespace {

// Walks the first pieces of a list, which may have very many.
void walk(const Blocks& blocks) {
    constexpr int pieces_max = 4096;
    bulk::BlockWalk walk(blocks);
    bulk::BlockPiece piece;
    std::uint64_t bytes = 0;
    bool all = false;
    for (int i = 0; i < pieces_max && !(all = !walk.next(blocks.bytes(), piece)); ++i) {
        CINNABAR_ASSERT(piece.bytes > 0 && piece.offset < blocks.end() && piece.bytes <= blocks.end() - piece.offset);
        bytes += piece.bytes;
    }
    CINNABAR_ASSERT(bytes == blocks.bytes() || !all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    ByteReader reader(std::as_bytes(std::span(bytes, size)));
    Blocks blocks;
    if (Blocks::decode(reader, blocks) != Errc::ok) {
        CINNABAR_ASSERT(blocks.empty());
        return 0;
    }
    CINNABAR_ASSERT(reader.ok() && reader.left() == 0);
    CINNABAR_ASSERT(!blocks.empty() && blocks.count() <= bulk::blocks_max && blocks.block_bytes() > 0);
    walk(blocks);
    (void)blocks.overlap();
    CINNABAR_ASSERT(blocks.encoded_bytes() <= size);
    std::vector<std::byte> again(blocks.encoded_bytes());
    ByteWriter writer(again);
    blocks.encode(writer);
    CINNABAR_ASSERT(writer.ok() && writer.left() == 0);
    ByteReader second(again);
    Blocks back;
    CINNABAR_ASSERT(Blocks::decode(second, back) == Errc::ok && back == blocks);
    return 0;
}
