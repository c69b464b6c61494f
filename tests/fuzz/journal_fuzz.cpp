// SPDX-License-Identifier: BSD-3-Clause
// The heads of journals that a server finds next to unfinished files of an earlier run. The checksum would reject
// almost all inputs of a fuzzer, so it is repaired first. An accepted head encodes to the same bytes again.
#include "file/journal.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/files/name.hpp>

#include <cstring>
#include <span>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::files;

namespace {

constexpr std::size_t name_bytes_at = 32;
constexpr std::size_t name_at = 36;

void try_head(ConstBytes in) {
    const auto decoded = decode_head(in);
    if (!decoded) return;
    const auto& head = decoded->head;
    CINNABAR_ASSERT(decoded->bytes <= in.size() && decoded->bytes <= journal_head_bytes_max);
    CINNABAR_ASSERT(head.block_bytes != 0 && head.name.size() <= name_bytes_max);
    CINNABAR_ASSERT(head.bytes == 0 || (head.blocks() - 1) * head.block_bytes < head.bytes);
    const auto text = encode_head(head);
    const auto again = decode_head(std::as_bytes(std::span(text)));
    CINNABAR_ASSERT(again && again->bytes == text.size() && again->head.is_of_same_file(head));
    CINNABAR_ASSERT(again->head.final_mode == head.final_mode);
}

// Replaces the checksum with the right one, if there is room for one.
void repair(std::vector<std::byte>& bytes) {
    if (bytes.size() < name_at) return;
    std::uint32_t name_bytes = 0;
    std::memcpy(&name_bytes, bytes.data() + name_bytes_at, sizeof name_bytes);
    const std::uint64_t covered = name_at + std::uint64_t{name_bytes};
    if (covered + 8 > bytes.size()) return;
    const auto checksum = block_checksum(ConstBytes(bytes).first(static_cast<std::size_t>(covered)));
    std::memcpy(bytes.data() + covered, &checksum, sizeof checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto in = std::as_bytes(std::span(bytes, size));
    try_head(in);
    std::vector<std::byte> repaired(in.begin(), in.end());
    repair(repaired);
    try_head(repaired);
    return 0;
}
