// SPDX-License-Identifier: BSD-3-Clause
// The Hello of a connection: an accepted one encodes to bytes that decode to the same.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/hello.hpp>

#include <array>

using namespace cinnabar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    na::Hello hello;
    if (na::Hello::decode(std::as_bytes(std::span(bytes, size)), hello) != Errc::ok) return 0;
    CINNABAR_ASSERT(size >= na::hello_bytes);
    std::array<std::byte, na::hello_bytes> first{};
    hello.encode(first);
    na::Hello again;
    CINNABAR_ASSERT(na::Hello::decode(first, again) == Errc::ok);
    std::array<std::byte, na::hello_bytes> second{};
    again.encode(second);
    CINNABAR_ASSERT(first == second);
    return 0;
}
