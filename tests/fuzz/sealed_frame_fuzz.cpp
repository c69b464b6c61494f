// SPDX-License-Identifier: BSD-3-Clause
// Messages of a peer in a sealed session: the first byte selects the envelope, the head of an opened message, or its
// greeting. What is accepted encodes to the same bytes.
#include "sealed/frame.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

using namespace cinnabar;
using namespace cinnabar::tls;

namespace {

void try_envelope(ConstBytes in) {
    Envelope kind{};
    if (!decode_envelope(in, kind)) return;
    CINNABAR_ASSERT(kind == Envelope::handshake || kind == Envelope::sealed);
    std::array<std::byte, envelope_bytes> again{};
    encode_envelope(kind, again);
    CINNABAR_ASSERT(std::equal(again.begin(), again.end(), in.begin()));
}

void try_head(ConstBytes in) {
    if (in.size() < sealed_head_bytes) return;
    SealedHead head;
    if (!head.decode(in.first<sealed_head_bytes>())) return;
    std::array<std::byte, sealed_head_bytes> again{};
    head.encode(again);
    CINNABAR_ASSERT(std::equal(again.begin(), again.end(), in.begin()));
}

void try_greeting(ConstBytes in) {
    SealedGreeting greeting;
    if (greeting.decode(in) != Errc::ok) return;
    CINNABAR_ASSERT(in.size() == SealedGreeting::wire_bytes);
    std::array<std::byte, SealedGreeting::wire_bytes> first{};
    greeting.encode(first);
    SealedGreeting again;
    CINNABAR_ASSERT(again.decode(first) == Errc::ok);
    CINNABAR_ASSERT(again.number == greeting.number && again.hello.incarnation == greeting.hello.incarnation);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 1) return 0;
    const ConstBytes in = std::as_bytes(std::span(bytes, size)).subspan(1);
    switch (bytes[0] % 3) {
        case 0:
            try_envelope(in);
            break;
        case 1:
            try_head(in);
            break;
        default:
            try_greeting(in);
    }
    return 0;
}
