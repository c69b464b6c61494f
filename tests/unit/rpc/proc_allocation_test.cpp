// SPDX-License-Identifier: BSD-3-Clause
// Encoding allocates nothing; decoding allocates only what the value itself holds.
#include "proc_checks.hpp"
#include "support/allocation_count.hpp"

#include <array>
#include <list>
#include <map>
#include <variant>

namespace cinnabar::rpc::test {
namespace {

template <class T>
std::uint64_t allocations_of_encode(const T& value) {
    static std::array<std::byte, 4096> room;
    std::size_t used = 0;
    const std::uint64_t before = support::allocations();
    const std::size_t size = proc_size(value);
    const Errc error = encode(room, value, used);
    const std::uint64_t taken = support::allocations() - before;
    EXPECT_EQ(error, Errc::ok);
    EXPECT_EQ(used, size);
    return taken;
}
template <class T>
std::uint64_t allocations_of_decode(const T& value) {
    const auto bytes = encoded(value);
    T back{};
    const std::uint64_t before = support::allocations();
    const Errc error = decode(bytes, back);
    const std::uint64_t taken = support::allocations() - before;
    EXPECT_EQ(error, Errc::ok);
    return taken;
}

struct AllKinds {
    int number = 1;
    std::string text = std::string(100, 'x');
    std::map<std::string, std::vector<int>> map = {{"a", {1, 2}}, {"b", {}}};
    std::variant<int, std::list<int>> choice = std::list<int>{1, 2, 3};
    std::unique_ptr<int> pointer = std::make_unique<int>(1);
};
struct Plain {
    int a, b;
    double c[3];
    std::string_view view;
    std::span<const std::uint64_t> span;
};

TEST(ProcAllocation, EncodingTakesNone) {
    EXPECT_EQ(allocations_of_encode(AllKinds{}), 0u);
    EXPECT_EQ(allocations_of_encode(Plain{1, 2, {1, 2, 3}, "view", {}}), 0u);
}

TEST(ProcAllocation, DecodingNumbersAndViewsTakesNone) {
    const std::array<std::uint64_t, 3> values{1, 2, 3};
    EXPECT_EQ(allocations_of_decode(Plain{1, 2, {1, 2, 3}, "view", values}), 0u);
    EXPECT_EQ(allocations_of_decode(std::optional<std::array<int, 100>>{std::array<int, 100>{}}), 0u);
}

TEST(ProcAllocation, DecodingAVectorTakesOne) {
    EXPECT_EQ(allocations_of_decode(std::vector<double>(100)), 1u);
    EXPECT_EQ(allocations_of_decode(std::vector<std::pair<char, bool>>(100)), 1u);
    EXPECT_EQ(allocations_of_decode(std::string(100, 'x')), 1u);
}

}  // namespace
}  // namespace cinnabar::rpc::test
