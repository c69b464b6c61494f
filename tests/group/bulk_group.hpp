// SPDX-License-Identifier: BSD-3-Clause
// Members of a simulated group that receive and send memory in bulk calls.
#pragma once

#include "sim_group.hpp"
#include "support/patterns.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cinnabar::test {

using group::BulkOptions;
using group::Portion;
using group::Rank;
using group::Tree;
using Memory = std::vector<std::byte>;

inline constexpr Rpc<void(std::uint64_t)> load{"test.load"};    // receives, and stores the bytes under the argument
inline constexpr Rpc<void(std::uint64_t)> store{"test.store"};  // sends the pattern of argument and rank

inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::byte> memory(bytes);
    support::fill_pattern(memory, seed);
    return memory;
}

// What one member has received, by argument.
struct Received {
    std::map<std::uint64_t, std::vector<std::byte>> memory;  // by argument
    std::map<std::uint64_t, Result<void>> outcome;
    std::map<std::uint64_t, TimeUs> when;
};

class BulkGroup {
  public:
    BulkGroup(std::size_t members, std::uint64_t seed, sim::WorldOptions weather = {}) : all(members, seed, weather) {
        for (std::size_t i = 0; i < members; ++i) serve(all[i]);
    }
    void serve(SimMember& member) {
        received.push_back(std::make_unique<Received>());
        Received* own = received.back().get();
        const NodeRef node = *member.node;
        const auto loads = [own, node](std::uint64_t key, group::Portion portion) -> Task<Result<void>> {
            std::vector<std::byte>& memory = own->memory[key];
            memory.resize(portion.bytes());
            auto receiving = portion.receive(Bytes(memory));
            const Result<void> moved = co_await receiving;
            own->outcome.emplace(key, moved);
            own->when.emplace(key, node.rpc_context().now_us());
            co_return moved;
        };
        member.group->serve_bulk(load, loads).value();
        const auto stores = [](const group::CallInfo& info, std::uint64_t key,
                               group::Portion portion) -> Task<Result<void>> {
            const std::vector<std::byte> memory = pattern(portion.bytes(), key + info.self);
            auto sending = portion.send(ConstBytes(memory));
            co_return co_await sending;
        };
        member.group->serve_bulk(store, stores).value();
    }
    void expect_received(std::size_t member, std::uint64_t key, const std::vector<std::byte>& bytes) const {
        const auto at = received[member]->memory.find(key);
        ASSERT_NE(at, received[member]->memory.end()) << "member " << member << " ran no handler";
        EXPECT_TRUE(at->second == bytes) << "member " << member;
    }

    std::vector<std::unique_ptr<Received>> received;  // outlives the members
    SimGroup all;
};

inline bulk::Region region_of(std::vector<std::byte>& memory) {
    if (memory.empty()) return {};
    return bulk::Region::expose(Bytes(memory), na::Access::read_write).value();
}

}  // namespace cinnabar::test
