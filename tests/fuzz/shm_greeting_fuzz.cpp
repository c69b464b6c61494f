// SPDX-License-Identifier: BSD-3-Clause
// The greeting of a socket of shared memory: an accepted one respects the limits on which a session relies, and encodes
// to bytes that decode to the same.
#include "flags.hpp"
#include "greeting.hpp"
#include "ring.hpp"

#include <cinnabar/base/assert.hpp>

using namespace cinnabar;
using namespace cinnabar::shm;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    na::Hello hello;
    Terms terms;
    if (decode_greeting(std::as_bytes(std::span(bytes, size)), hello, terms) != Errc::ok) return 0;
    CINNABAR_ASSERT(terms.name.view().size() <= name_bytes_max);
    CINNABAR_ASSERT(terms.name.view().empty() || good_name(terms.name.view()));
    if (hello.kind != na::HelloKind::reject) {
        CINNABAR_ASSERT(terms.flag <= Flags::count_max);
        CINNABAR_ASSERT(terms.ring_bytes >= ring_bytes_min && terms.ring_bytes <= ring_bytes_max);
        CINNABAR_ASSERT(3 * record_size(terms.record_bytes_max) <= terms.ring_bytes);
    }
    std::array<std::byte, greeting_bytes_max> room{};
    const std::size_t length = encode_greeting(hello, terms, room);
    na::Hello hello_again;
    Terms again;
    CINNABAR_ASSERT(decode_greeting(ConstBytes(room).first(length), hello_again, again) == Errc::ok);
    CINNABAR_ASSERT(again.name.view() == terms.name.view() && again.ring_bytes == terms.ring_bytes);
    CINNABAR_ASSERT(again.probe_address == terms.probe_address && again.probe_value == terms.probe_value);
    CINNABAR_ASSERT(again.flag == terms.flag);
    return 0;
}
