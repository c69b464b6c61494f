// SPDX-License-Identifier: BSD-3-Clause
// The reader of a ring in shared memory with arbitrary contents. The first two bytes give the position of the reader.
// The reader stays inside the ring, and accepted records have lengths on which the session can rely.
// access_frame_fuzz.cpp tests the bodies.
#include "ring.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

using namespace cinnabar;
using namespace cinnabar::shm;

namespace {

constexpr std::size_t ring_bytes = 64 * 1024;
constexpr std::size_t record_bytes_max = 16 * 1024;

struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 2) return 0;
    // Has exactly the announced size, so that a sanitizer notices each access outside.
    const std::unique_ptr<std::byte, Free> memory(
        static_cast<std::byte*>(::operator new (ring_header_bytes + ring_bytes, std::align_val_t{4096})));
    std::memset(memory.get(), 0, ring_header_bytes + ring_bytes);
    RingReader reader;
    reader.attach(memory.get(), ring_bytes, record_bytes_max);
    // Valid records move the reader to that position.
    RingWriter writer;
    writer.attach(memory.get(), ring_bytes);
    std::size_t at = (bytes[0] | std::size_t{bytes[1]} << 8) / 16 * 16;
    const std::size_t start = at;
    Record record;
    while (at > 0) {
        const std::size_t step = std::min(at, record_size(8192));
        CINNABAR_ASSERT(writer.reserve(static_cast<std::uint32_t>(step - record_header_bytes)) != nullptr);
        writer.publish({RecordKind::expected, 0, 0, static_cast<std::uint32_t>(step - record_header_bytes), 0});
        CINNABAR_ASSERT(reader.next(record) == RingReader::Look::record);
        reader.consume();
        reader.give_back();
        at -= step;
    }
    std::byte* const ring = memory.get() + ring_header_bytes;
    for (std::size_t i = 2; i < size && i < ring_bytes; ++i) {
        ring[(start + i - 2) % ring_bytes] = static_cast<std::byte>(bytes[i]);
    }
    for (unsigned records = 0; records < 8192; ++records) {
        if (reader.next(record) != RingReader::Look::record) break;
        CINNABAR_ASSERT(record.bytes <= record_bytes_max);
        CINNABAR_ASSERT(reader.payload() >= ring + record_header_bytes || record.bytes == 0);
        CINNABAR_ASSERT(reader.payload() + record.bytes <= ring + ring_bytes);
        reader.consume();
        if (reader.room_due()) reader.give_back();
    }
    return 0;
}
