// SPDX-License-Identifier: BSD-3-Clause
// Forwarded memory, with A and B connected over one transport, B and C over another: C reaches A over the transport on
// which the memory was lent, or reports that it cannot.
#include "forward_parties.hpp"
#include "ways.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

struct Mix {
    Way first;  // between A and B
    Way second;
    friend std::ostream& operator<<(std::ostream& out, const Mix& mix) {
        return out << mix.first << "_then_" << mix.second;
    }
};

// All pairs of tcp, shm, and the first libfabric provider that this machine has.
std::vector<Mix> mixes() {
    std::vector<Way> all;
    bool has_fabric = false;
    for (const Way& way : ways()) {
        const bool fabric = way.name.starts_with("ofi_");
        if (way.name != "tcp" && way.name != "shm" && (!fabric || std::exchange(has_fabric, true))) continue;
        all.push_back(way);
    }
    std::vector<Mix> pairs;
    for (const Way& first : all) {
        for (const Way& second : all) {
            if (first.name != second.name) pairs.push_back({first, second});
        }
    }
    return pairs;
}

std::string scheme_of(const Way& way) { return way.listen.substr(0, way.listen.find("://")); }

class ForwardMix : public testing::TestWithParam<Mix> {
  protected:
    const std::string first_ = GetParam().first.listen;
    const std::string second_ = GetParam().second.listen;
};

TEST_P(ForwardMix, the_third_party_meets_the_owner_on_the_transport_of_the_first_call) {
    Store c({second_, first_});
    Gateway b({first_, second_}, c.node.endpoints().front());
    ASSERT_EQ(b.node.transport_to(b.next), scheme_of(GetParam().second));
    Node a = Node::listen(first_).value();
    const Addr to = a.lookup(b.node.address()).value();
    const auto bytes = pattern(2 * mib);
    std::vector<std::byte> back(bytes.size());
    const auto from = a.expose(std::span<const std::byte>(bytes)).value();
    const auto into = a.expose(std::span<std::byte>(back)).value();
    const auto copied =
        a.call(copy, to, {{"x", Bulk(from).forwardable()}, Bulk(into, Access::write).forwardable()}, 60s).wait();
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_EQ(*copied, 2 * bytes.size());
    EXPECT_EQ(back, bytes);
}

// The owner listens on a transport that it shares with the third party, but the memory was not lent on that one.
TEST_P(ForwardMix, a_third_party_without_that_transport_says_what_it_lacks) {
    Store c({second_});
    Gateway b({first_, second_}, c.node.address());
    Node a = Node::listen({first_, second_}).value();
    const Addr to = a.lookup(b.node.endpoints().front()).value();
    ASSERT_EQ(a.transport_to(to), scheme_of(GetParam().first));
    const auto bytes = pattern(mib);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    const auto stored = a.call(put, to, {"x", Bulk(region).forwardable()}, 60s).wait();
    EXPECT_EQ(stored.code(), Errc::unreachable) << stored.error().message();
    EXPECT_NE(c.said.find("no transport of this node reaches the owner"), std::string::npos) << c.said;
    EXPECT_NE(c.said.find(scheme_of(GetParam().first) + "://"), std::string::npos) << c.said;
    EXPECT_EQ(std::ranges::count(c.kept, std::byte{0}), static_cast<std::ptrdiff_t>(c.kept.size()));
}

INSTANTIATE_TEST_SUITE_P(Over, ForwardMix, testing::ValuesIn(mixes()),
                         [](const auto& each) { return each.param.first.name + "_then_" + each.param.second.name; });

}  // namespace
}  // namespace cinnabar::test
