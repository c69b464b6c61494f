// SPDX-License-Identifier: BSD-3-Clause
// An owner of memory and a user of it, over each transport that needs no device.
#pragma once

#include "integration/ways.hpp"
#include "support/test_key.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_many.hpp>
#include <cinnabar/hl/share.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace cinnabar::test {

using hl::Names;
using hl::Remote;
using hl::RemoteBytes;
using hl::RemoteSpan;
using hl::share;
using hl::Shared;

using Words = std::vector<std::uint64_t>;

inline Words counted(std::size_t count, std::uint64_t first = 0) {
    Words words(count);
    std::iota(words.begin(), words.end(), first);
    return words;
}

inline constexpr Rpc<RemoteSpan<std::uint64_t>()> get_words{"get_words"};

inline const std::vector<Way>& remote_ways() {
    static const std::vector<Way> all = [] {
        std::vector<Way> list = ways();
        const std::string key = "?key=" + support::test_key_file();
        list.push_back({"tcps", "tcps://127.0.0.1:0/" + key, "tcps://" + key});
        const std::string ofis = "ofis+tcp;ofi_rxm://127.0.0.1:0" + key;
        na::Registry registry;
        add_builtin(registry);
        if (support::missing_here(registry.open(ofis, {})).empty()) list.push_back({"ofis_tcp_rxm", ofis, ofis});
        list.push_back({"self", "self://", "self://"});
        list.push_back({"sim", "sim://owner?world=", "sim://user?world="});
        return list;
    }();
    return all;
}

#define CINNABAR_ON_EACH_REMOTE_WAY(suite)                                                    \
    INSTANTIATE_TEST_SUITE_P(Over, suite, testing::ValuesIn(::cinnabar::test::remote_ways()), \
                             [](const auto& each) { return each.param.name; })

// On the simulated network each pair has a world of its own, which must outlive the nodes.
class Pair {
  public:
    explicit Pair(const Way& way, const NodeOptions& of_user = {})
        : world_(way.name == "sim" ? std::to_string(++worlds()) : ""),
          simulated_(world_.empty() ? nullptr : sim::World::numbered(std::stoull(world_))),
          owner(Node::listen(way.listen + world_).value()),
          user(Node::open(way.open + world_, of_user).value()),
          to(user.lookup(owner.address()).value()) {}

  private:
    static std::uint64_t& worlds() {
        static std::uint64_t number = 5000;
        return number;
    }
    std::string world_;
    std::shared_ptr<sim::World> simulated_;

  public:
    Node owner;
    Node user;
    Addr to;
};

inline const Way& way_named(const std::string& name) {
    for (const Way& way : remote_ways())
        if (way.name == name) return way;
    throw std::out_of_range(name);
}

// Words that the owner shares, and their token, which the user receives as the result of a call.
class RemoteWords : public testing::TestWithParam<Way> {
  protected:
    static constexpr std::size_t count = 100'000;

    explicit RemoteWords(const Way& way = GetParam()) : pair_(way) {
        EXPECT_TRUE(owner().serve(get_words, [this] { return shared_.span(); }).ok());
    }
    [[nodiscard]] Node& owner() { return pair_.owner; }
    [[nodiscard]] Node& user() { return pair_.user; }
    [[nodiscard]] RemoteSpan<std::uint64_t> token() { return user().call(get_words, pair_.to).wait().value(); }

    Words memory_ = counted(count);
    Pair pair_;
    Shared<std::uint64_t> shared_ = share(pair_.owner, std::span(memory_)).value();
};

}  // namespace cinnabar::test
