// SPDX-License-Identifier: BSD-3-Clause
// Addresses on the wire: an accepted address knows its encoded size, and encodes to bytes that decode to the same.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/addr.hpp>

#include <vector>

using namespace cinnabar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    ByteReader reader(std::as_bytes(std::span(bytes, size)));
    const auto addr = na::Addr::decode(reader);
    if (!addr) return 0;
    std::vector<std::byte> first(addr->encoded_bytes());
    ByteWriter writer(first);
    addr->encode(writer);
    CINNABAR_ASSERT(writer.ok() && writer.left() == 0);
    ByteReader rereader(first);
    const auto again = na::Addr::decode(rereader);
    CINNABAR_ASSERT(again.ok() && rereader.left() == 0);
    CINNABAR_ASSERT(again->to_string() == addr->to_string() && again->encoded_bytes() == addr->encoded_bytes());
    return 0;
}
