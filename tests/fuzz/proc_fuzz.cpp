// SPDX-License-Identifier: BSD-3-Clause
// Arguments of calls: the first byte selects a type, the rest is the payload. An accepted value has a size, encodes to
// that size, and decodes to the same again.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <algorithm>
#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

using namespace cinnabar;

namespace {

struct Inner {
    std::int32_t a = 0;
    double b = 0;
    bool c = false;
};
struct Tree {
    std::uint8_t tag = 0;
    std::unique_ptr<Tree> left, right;
    std::vector<Tree> more;
};
struct Views {
    std::string_view text;
    std::span<const std::byte> bytes;
    std::span<const std::uint64_t> wide;
    char tail[3] = {};
};
struct Containers {
    std::vector<std::string> strings;
    std::map<std::uint16_t, std::vector<Inner>> map;
    std::unordered_map<std::string, std::uint32_t> hashed;
    std::multiset<std::uint8_t> many;
    std::deque<std::optional<Inner>> maybe;
    std::list<std::variant<std::monostate, bool, std::u16string, Tree>> choices;
    std::vector<bool> bools;
};
struct Fixed {
    std::array<Inner, 2> inner;
    std::bitset<13> bits;
    std::chrono::milliseconds age{};
    std::pair<char, std::tuple<signed char, Errc>> pair;
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
    const std::vector<std::byte> second = encoded(again);
    CINNABAR_ASSERT(second.size() == first.size());
    // The order of a hashed map may change.
    if constexpr (!std::is_same_v<T, Containers>) CINNABAR_ASSERT(second == first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    // A copy, so that the payload begins at an aligned address as in a message.
    const auto payload = std::make_unique<std::byte[]>(size - 1);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes + 1), size - 1, payload.get());
    const ConstBytes in(payload.get(), size - 1);
    switch (bytes[0] % 6) {
        case 0:
            try_type<Tree>(in);
            break;
        case 1:
            try_type<Views>(in);
            break;
        case 2:
            try_type<Containers>(in);
            break;
        case 3:
            try_type<Fixed>(in);
            break;
        case 4:
            try_type<std::tuple<Inner, std::optional<std::string>, std::vector<std::vector<Inner>>>>(in);
            break;
        default:
            try_type<std::vector<std::variant<std::string, std::vector<std::string>>>>(in);
            break;
    }
    return 0;
}
