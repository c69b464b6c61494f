// SPDX-License-Identifier: BSD-3-Clause
// Arguments of calls: the first byte picks a type, the rest is its payload. What is taken has a size, encodes in that
// size, and decodes again to something that encodes to the same bytes.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

using namespace cinnabar;

namespace {

struct Small {
    std::uint8_t kind = 0;
    std::int64_t number = 0;
    bool flag = false;
};
struct Nested {
    std::string name;
    std::vector<Small> parts;
    std::optional<std::uint32_t> tail;
    std::map<std::string, std::vector<std::uint16_t>> index;
};
struct Choice {
    std::variant<std::monostate, int, std::string, std::vector<Small>> what;
    std::array<std::uint8_t, 3> mark{};
    std::pair<float, double> place;
};
struct Views {
    std::string_view name;
    std::span<const std::byte> bytes;
};

template <class T>
std::vector<std::byte> encoded(const T& value) {
    std::vector<std::byte> bytes(rpc::proc_size(value));
    std::size_t used = 0;
    CINNABAR_ASSERT(rpc::encode(bytes, value, used) == Errc::ok);
    CINNABAR_ASSERT(used == bytes.size());
    return bytes;
}

template <class T>
void try_type(ConstBytes in) {
    T value{};
    if (rpc::decode(in, value) != Errc::ok) return;
    const std::vector<std::byte> first = encoded(value);
    T again{};
    CINNABAR_ASSERT(rpc::decode(first, again) == Errc::ok);
    CINNABAR_ASSERT(encoded(again) == first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    // A copy, so that the payload starts at an aligned address as it does in a message.
    const auto payload = std::make_unique<std::byte[]>(size - 1);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes + 1), size - 1, payload.get());
    const ConstBytes in(payload.get(), size - 1);
    switch (bytes[0] % 6) {
        case 0:
            try_type<Small>(in);
            break;
        case 1:
            try_type<Nested>(in);
            break;
        case 2:
            try_type<Choice>(in);
            break;
        case 3:
            try_type<Views>(in);
            break;
        case 4:
            try_type<std::vector<std::string>>(in);
            break;
        default:
            try_type<std::tuple<std::u32string, std::vector<bool>, std::optional<Nested>>>(in);
            break;
    }
    return 0;
}
