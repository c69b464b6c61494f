// SPDX-License-Identifier: BSD-3-Clause
// The backend of NIXL, driven as NIXL drives it, with headers that stand in for NIXL's.
#include "nixl/src/engine.hpp"
#include "support/log_watch.hpp"
#include "support/patterns.hpp"

#include <backend_plugin.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::nixl {
namespace {

// An agent with registered memory.
struct Agent {
    Agent(const std::string& of, nixl_b_params_t options, std::size_t bytes) : name(of), memory(bytes) {
        nixlBackendInitParams params;
        params.localAgent = name;
        params.type = Engine::name;
        params.customParams = &options;
        engine.emplace(&params);
        if (engine->getInitErr()) return;
        desc.addr = reinterpret_cast<std::uintptr_t>(memory.data());
        desc.len = memory.size();
        EXPECT_EQ(engine->registerMem(desc, DRAM_SEG, local), NIXL_SUCCESS);
    }
    ~Agent() {
        if (local) {
            EXPECT_EQ(engine->deregisterMem(local), NIXL_SUCCESS);
        }
        if (remote) {
            EXPECT_EQ(engine->unloadMD(remote), NIXL_SUCCESS);
        }
    }
    // As NIXL does with the metadata of another agent.
    void meet(const Agent& other) {
        std::string address;
        ASSERT_EQ(other.engine->getConnInfo(address), NIXL_SUCCESS);
        ASSERT_EQ(engine->loadRemoteConnInfo(other.name, address), NIXL_SUCCESS);
        ASSERT_EQ(engine->connect(other.name), NIXL_SUCCESS);
        nixlBlobDesc there = other.desc;
        ASSERT_EQ(other.engine->getPublicData(other.local, there.metaInfo), NIXL_SUCCESS);
        ASSERT_EQ(engine->loadRemoteMD(there, DRAM_SEG, other.name, remote), NIXL_SUCCESS);
    }
    [[nodiscard]] nixlMetaDesc here(std::size_t offset, std::size_t bytes) const {
        return piece(desc, offset, bytes, local);
    }
    [[nodiscard]] static nixlMetaDesc piece(const nixlBasicDesc& of, std::size_t offset, std::size_t bytes,
                                            nixlBackendMD* metadata) {
        nixlMetaDesc made;
        made.addr = of.addr + offset;
        made.len = bytes;
        made.metadataP = metadata;
        return made;
    }

    std::string name;
    std::vector<std::byte> memory;
    std::optional<Engine> engine;
    nixlBlobDesc desc;
    nixlBackendMD* local = nullptr;
    nixlBackendMD* remote = nullptr;
};

// Until `done()`, or for as long as a busy machine may take.
template <typename F>
void wait_until(F&& done) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

nixl_status_t ended(const Engine& engine, nixlBackendReqH* handle) {
    wait_until([&] { return engine.checkXfer(handle) != NIXL_IN_PROG; });
    return engine.checkXfer(handle);
}

notif_list_t notices_of(Engine& engine) {
    notif_list_t all;
    wait_until([&] { return engine.getNotifs(all) != NIXL_SUCCESS || !all.empty(); });
    return all;
}

constexpr std::size_t bytes_each = 1 << 20;

// Over tcp and shm.
class NixlTest : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] static nixl_b_params_t options() { return {{"listen", GetParam()}}; }
    // Moves pieces from the second agent's memory to the first one's, or back; the offsets are {here, there}.
    nixl_status_t move(nixl_xfer_op_t op, const std::vector<std::array<std::size_t, 3>>& pieces, int times = 1) {
        nixl_meta_dlist_t here(DRAM_SEG);
        nixl_meta_dlist_t there(DRAM_SEG);
        for (const auto& [at, from, bytes] : pieces) {
            here.addDesc(first_.here(at, bytes));
            there.addDesc(Agent::piece(second_.desc, from, bytes, first_.remote));
        }
        nixlBackendReqH* handle = nullptr;
        const nixl_opt_b_args_t told{"moved", true};
        nixl_status_t status = first_.engine->prepXfer(op, here, there, "second", handle, &told);
        if (status != NIXL_SUCCESS) return status;
        for (int i = 0; i < times && status == NIXL_SUCCESS; ++i) {
            EXPECT_EQ(first_.engine->postXfer(op, here, there, "second", handle, &told), NIXL_IN_PROG);
            status = ended(*first_.engine, handle);
        }
        EXPECT_EQ(first_.engine->releaseReqH(handle), NIXL_SUCCESS);
        return status;
    }
    [[nodiscard]] static bool same(const Agent& a, std::size_t at, const Agent& b, std::size_t from,
                                   std::size_t bytes) {
        return std::ranges::equal(std::span(a.memory).subspan(at, bytes), std::span(b.memory).subspan(from, bytes));
    }
    // `reader` reads from the start of the memory of `owner`.
    [[nodiscard]] static nixl_status_t read_first_kib(const Agent& reader, const Agent& owner) {
        nixl_meta_dlist_t to(DRAM_SEG);
        nixl_meta_dlist_t from(DRAM_SEG);
        to.addDesc(reader.here(0, 1024));
        from.addDesc(Agent::piece(owner.desc, 0, 1024, reader.remote));
        nixlBackendReqH* handle = nullptr;
        EXPECT_EQ(reader.engine->prepXfer(NIXL_READ, to, from, owner.name, handle, nullptr), NIXL_SUCCESS);
        EXPECT_EQ(reader.engine->postXfer(NIXL_READ, to, from, owner.name, handle, nullptr), NIXL_IN_PROG);
        const nixl_status_t status = ended(*reader.engine, handle);
        EXPECT_EQ(reader.engine->releaseReqH(handle), NIXL_SUCCESS);
        return status;
    }
    Agent first_{"first", options(), bytes_each};
    Agent second_{"second", options(), bytes_each};
};

TEST_P(NixlTest, BlocksAreReadAndWrittenAndTheOtherAgentIsTold) {
    first_.meet(second_);
    support::fill_pattern(second_.memory, 1);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, bytes_each}}), NIXL_SUCCESS);
    EXPECT_EQ(first_.memory, second_.memory);
    EXPECT_EQ(notices_of(*second_.engine), (notif_list_t{{"first", "moved"}}));
    // Blocks of one size, from a remainder; posted twice.
    support::fill_pattern(first_.memory, 2);
    EXPECT_EQ(move(NIXL_WRITE, {{100, 50, 4000}, {12100, 4050, 4000}, {4100, 40050, 4000}}, 2), NIXL_SUCCESS);
    EXPECT_TRUE(same(first_, 100, second_, 50, 4000));
    EXPECT_TRUE(same(first_, 12100, second_, 4050, 4000));
    EXPECT_TRUE(same(first_, 4100, second_, 40050, 4000));
    // Pieces of all sizes.
    EXPECT_EQ(move(NIXL_WRITE, {{7, 100'000, 1}, {9, 200'000, 300'000}, {400'000, 17, 4096}}), NIXL_SUCCESS);
    EXPECT_TRUE(same(first_, 7, second_, 100'000, 1));
    EXPECT_TRUE(same(first_, 9, second_, 200'000, 300'000));
    EXPECT_TRUE(same(first_, 400'000, second_, 17, 4096));
}

TEST_P(NixlTest, AnAgentMovesWithinItsOwnMemory) {
    nixlBackendMD* own = nullptr;
    ASSERT_EQ(first_.engine->connect("first"), NIXL_SUCCESS);
    ASSERT_EQ(first_.engine->loadLocalMD(first_.local, own), NIXL_SUCCESS);
    support::fill_pattern(first_.memory, 3);
    nixl_meta_dlist_t to(DRAM_SEG);
    nixl_meta_dlist_t from(DRAM_SEG);
    to.addDesc(first_.here(500'000, 100'000));
    from.addDesc(Agent::piece(first_.desc, 0, 100'000, own));
    nixlBackendReqH* handle = nullptr;
    ASSERT_EQ(first_.engine->prepXfer(NIXL_READ, to, from, "first", handle, nullptr), NIXL_SUCCESS);
    EXPECT_EQ(first_.engine->checkXfer(handle), NIXL_ERR_NOT_POSTED);
    EXPECT_EQ(first_.engine->postXfer(NIXL_READ, to, from, "first", handle, nullptr), NIXL_IN_PROG);
    EXPECT_EQ(ended(*first_.engine, handle), NIXL_SUCCESS);
    EXPECT_TRUE(same(first_, 500'000, first_, 0, 100'000));
    EXPECT_EQ(first_.engine->releaseReqH(handle), NIXL_SUCCESS);
    EXPECT_EQ(first_.engine->unloadMD(own), NIXL_SUCCESS);
}

TEST_P(NixlTest, WhatDoesNotFitTheMemoryIsRefused) {
    first_.meet(second_);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, bytes_each + 1}}), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(move(NIXL_READ, {{0, 1, bytes_each}}), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(move(NIXL_READ, {{1, 0, bytes_each}}), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, 0}}), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(move(NIXL_READ, {}), NIXL_ERR_INVALID_PARAM);
    nixlBlobDesc there = second_.desc;
    nixlBackendMD* out = nullptr;
    there.metaInfo = "no token";
    EXPECT_EQ(first_.engine->loadRemoteMD(there, DRAM_SEG, "second", out), NIXL_ERR_MISMATCH);
    EXPECT_EQ(first_.engine->loadRemoteMD(there, DRAM_SEG, "third", out), NIXL_ERR_NOT_FOUND);
    EXPECT_EQ(first_.engine->loadRemoteMD(there, BLK_SEG, "second", out), NIXL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(first_.engine->registerMem(first_.desc, BLK_SEG, out), NIXL_ERR_NOT_SUPPORTED);
    EXPECT_EQ(first_.engine->unloadMD(first_.local), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(first_.engine->deregisterMem(first_.remote), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(first_.engine->loadRemoteConnInfo("third", "nonsense"), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(first_.engine->connect("third"), NIXL_ERR_NOT_FOUND);
    EXPECT_EQ(first_.engine->genNotif("third", "hello"), NIXL_ERR_NOT_FOUND);
}

TEST_P(NixlTest, AChangedTokenOpensNothing) {
    first_.meet(second_);
    nixlBlobDesc there = second_.desc;
    ASSERT_EQ(second_.engine->getPublicData(second_.local, there.metaInfo), NIXL_SUCCESS);
    constexpr std::size_t sealed = 49;  // the grant, and the seal behind it (docs/proc-encoding.md)
    int refused = 0;
    for (std::size_t at = 0; at < there.metaInfo.size(); ++at) {
        char& byte = there.metaInfo[at];
        byte = static_cast<char>(byte ^ 1);
        nixlBackendMD* changed = nullptr;
        if (first_.engine->loadRemoteMD(there, DRAM_SEG, "second", changed) == NIXL_SUCCESS) {
            std::swap(first_.remote, changed);
            // What names the owner is not used, since the agent's address is known.
            const nixl_status_t status = move(NIXL_READ, {{0, 0, 1000}});
            EXPECT_TRUE(status != NIXL_SUCCESS || at >= sealed) << "byte " << at;
            if (status == NIXL_ERR_NOT_ALLOWED) ++refused;
            std::swap(first_.remote, changed);
            EXPECT_EQ(first_.engine->unloadMD(changed), NIXL_SUCCESS);
        }
        byte = static_cast<char>(byte ^ 1);
    }
    EXPECT_GE(refused, 8) << "each byte of the seal";
}

TEST_P(NixlTest, ABlockMayBeWrittenTwice) {
    first_.meet(second_);
    support::fill_pattern(second_.memory, 5);
    // The last of equal sizes need not win, so both have the same bytes.
    std::copy_n(second_.memory.begin(), 4096, second_.memory.begin() + 8192);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, 4096}, {0, 8192, 4096}}), NIXL_SUCCESS);
    EXPECT_TRUE(same(first_, 0, second_, 0, 4096));
    EXPECT_EQ(move(NIXL_WRITE, {{0, 4096, 4096}, {0, 4096, 4096}}), NIXL_SUCCESS);
    EXPECT_TRUE(same(first_, 0, second_, 4096, 4096));
}

// NIXL asks once, deletes the request the second time, and takes the memory for unused then.
TEST_P(NixlTest, WhatIsReleasedInProgressTouchesNoMemoryAfterwards) {
    constexpr std::size_t large = std::size_t{64} << 20;
    Agent here("here", options(), large);
    Agent there("there", options(), large);
    here.meet(there);
    support::fill_pattern(there.memory, 6);
    nixl_meta_dlist_t to(DRAM_SEG);
    nixl_meta_dlist_t from(DRAM_SEG);
    to.addDesc(here.here(0, large));
    from.addDesc(Agent::piece(there.desc, 0, large, here.remote));
    nixl_status_t first = NIXL_SUCCESS;
    bool is_refused_again = false;
    for (int i = 0; i < 50 && (first == NIXL_SUCCESS || !is_refused_again); ++i) {  // if busy, it may have ended before
        nixlBackendReqH* handle = nullptr;
        ASSERT_EQ(here.engine->prepXfer(NIXL_READ, to, from, "there", handle, nullptr), NIXL_SUCCESS);
        ASSERT_EQ(here.engine->postXfer(NIXL_READ, to, from, "there", handle, nullptr), NIXL_IN_PROG);
        const nixl_status_t again = here.engine->postXfer(NIXL_READ, to, from, "there", handle, nullptr);
        EXPECT_TRUE(again == NIXL_ERR_REPOST_ACTIVE || again == NIXL_IN_PROG);
        is_refused_again = is_refused_again || again == NIXL_ERR_REPOST_ACTIVE;
        first = here.engine->releaseReqH(handle);
        if (first == NIXL_SUCCESS) continue;
        EXPECT_EQ(first, NIXL_ERR_REPOST_ACTIVE);
        EXPECT_EQ(here.engine->releaseReqH(handle), NIXL_SUCCESS);
    }
    EXPECT_EQ(first, NIXL_ERR_REPOST_ACTIVE) << "never in progress";
    EXPECT_TRUE(is_refused_again);
    const std::vector<std::byte> after = here.memory;
    EXPECT_EQ(here.engine->deregisterMem(std::exchange(here.local, nullptr)), NIXL_SUCCESS);
    EXPECT_EQ(here.memory, after);
}

TEST_P(NixlTest, MemoryInUseIsNotDeregistered) {
    constexpr std::size_t large = std::size_t{64} << 20;
    Agent here("here", options(), large);
    Agent there("there", options(), large);
    here.meet(there);
    there.meet(here);
    bool is_refused = false;
    for (int i = 0; i < 50 && !is_refused; ++i) {  // if busy, it may have ended before
        nixl_meta_dlist_t to(DRAM_SEG);
        nixl_meta_dlist_t from(DRAM_SEG);
        to.addDesc(here.here(0, large));
        from.addDesc(Agent::piece(there.desc, 0, large, here.remote));
        nixlBackendReqH* handle = nullptr;
        ASSERT_EQ(here.engine->prepXfer(NIXL_READ, to, from, "there", handle, nullptr), NIXL_SUCCESS);
        ASSERT_EQ(here.engine->postXfer(NIXL_READ, to, from, "there", handle, nullptr), NIXL_IN_PROG);
        const nixl_status_t status = here.engine->deregisterMem(here.local);
        is_refused = status == NIXL_ERR_NOT_ALLOWED;
        nixlBackendMD* const refused = is_refused ? std::exchange(here.local, nullptr) : nullptr;
        if (!is_refused) {
            ASSERT_EQ(status, NIXL_SUCCESS);
        }
        // NIXL tells its program nothing of that, so the place may be used anew.
        EXPECT_EQ(read_first_kib(there, here), NIXL_ERR_REMOTE_DISCONNECT) << "others still reach it";
        ASSERT_EQ(here.engine->registerMem(here.desc, DRAM_SEG, here.local), NIXL_SUCCESS);
        EXPECT_EQ(there.engine->unloadMD(std::exchange(there.remote, nullptr)), NIXL_SUCCESS);
        there.meet(here);
        EXPECT_EQ(read_first_kib(there, here), NIXL_SUCCESS);
        EXPECT_EQ(ended(*here.engine, handle), NIXL_SUCCESS);
        EXPECT_EQ(here.engine->releaseReqH(handle), NIXL_SUCCESS);
        if (refused) {
            EXPECT_EQ(here.engine->deregisterMem(refused), NIXL_SUCCESS);
        }
        EXPECT_EQ(read_first_kib(there, here), NIXL_SUCCESS) << "it is registered anew";
    }
    EXPECT_TRUE(is_refused) << "never in progress";
}

TEST_P(NixlTest, ATransferOfMemoryThatIsNoLongerRegisteredDoesNotBegin) {
    first_.meet(second_);
    nixl_meta_dlist_t to(DRAM_SEG);
    nixl_meta_dlist_t from(DRAM_SEG);
    to.addDesc(first_.here(0, 1000));
    from.addDesc(Agent::piece(second_.desc, 0, 1000, first_.remote));
    nixlBackendReqH* handle = nullptr;
    ASSERT_EQ(first_.engine->prepXfer(NIXL_READ, to, from, "second", handle, nullptr), NIXL_SUCCESS);
    ASSERT_EQ(first_.engine->postXfer(NIXL_READ, to, from, "second", handle, nullptr), NIXL_IN_PROG);
    EXPECT_EQ(ended(*first_.engine, handle), NIXL_SUCCESS);
    ASSERT_EQ(first_.engine->deregisterMem(std::exchange(first_.local, nullptr)), NIXL_SUCCESS);
    EXPECT_EQ(first_.engine->postXfer(NIXL_READ, to, from, "second", handle, nullptr), NIXL_ERR_NOT_ALLOWED);
    EXPECT_EQ(first_.engine->releaseReqH(handle), NIXL_SUCCESS);
}

TEST_P(NixlTest, MemoryThatIsNoLongerRegisteredIsNotReachable) {
    first_.meet(second_);
    ASSERT_EQ(second_.engine->deregisterMem(std::exchange(second_.local, nullptr)), NIXL_SUCCESS);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, 1000}}), NIXL_ERR_REMOTE_DISCONNECT);
}

TEST_P(NixlTest, MemoryMayBeRegisteredTwice) {
    first_.meet(second_);
    nixlBackendMD* again = nullptr;
    ASSERT_EQ(second_.engine->registerMem(second_.desc, DRAM_SEG, again), NIXL_SUCCESS);
    std::string one;
    std::string other;
    EXPECT_EQ(second_.engine->getPublicData(second_.local, one), NIXL_SUCCESS);
    EXPECT_EQ(second_.engine->getPublicData(again, other), NIXL_SUCCESS);
    EXPECT_EQ(one, other);
    ASSERT_EQ(second_.engine->deregisterMem(std::exchange(second_.local, nullptr)), NIXL_SUCCESS);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, 1000}}), NIXL_SUCCESS) << "one registration is left";
    EXPECT_EQ(second_.engine->deregisterMem(again), NIXL_SUCCESS);
    EXPECT_EQ(move(NIXL_READ, {{0, 0, 1000}}), NIXL_ERR_REMOTE_DISCONNECT);
}

TEST_P(NixlTest, AnAgentThatIsGoneEndsTheTransfer) {
    first_.meet(second_);
    second_.engine->deregisterMem(std::exchange(second_.local, nullptr));
    second_.engine.reset();
    EXPECT_EQ(move(NIXL_READ, {{0, 0, 1000}}), NIXL_ERR_REMOTE_DISCONNECT);
}

TEST_P(NixlTest, NotificationsGoByThemselves) {
    first_.meet(second_);
    EXPECT_EQ(first_.engine->genNotif("second", std::string("a\0b", 3)), NIXL_SUCCESS);
    EXPECT_EQ(notices_of(*second_.engine), (notif_list_t{{"first", std::string("a\0b", 3)}}));
    notif_list_t filled{{"x", "y"}};
    EXPECT_EQ(second_.engine->getNotifs(filled), NIXL_ERR_INVALID_PARAM);
}

INSTANTIATE_TEST_SUITE_P(Over, NixlTest, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& each) { return each.param.substr(0, each.param.find(':')); });

TEST(NixlNotices, AgentsThatDoNotReadThemRefuseMore) {
    Notices notices;
    const std::string large(Notices::bytes_max / 2, 'x');
    EXPECT_EQ(notices.add("a", large), Errc::ok);
    EXPECT_EQ(notices.add("a", large), Errc::overloaded);
    notif_list_t all;
    notices.take(all);
    EXPECT_EQ(all.size(), 1u);
    EXPECT_EQ(notices.add("a", large), Errc::ok);
}

TEST(NixlPlugin, MakesEngines) {
    nixlBackendPlugin* const plugin = nixl_plugin_init();
    EXPECT_EQ(plugin->api_version, NIXL_PLUGIN_API_VERSION);
    EXPECT_EQ(plugin->name, "CINNABAR");
    EXPECT_EQ(plugin->memories, (nixl_mem_list_t{DRAM_SEG, VRAM_SEG, FILE_SEG}));
    plugin->options["listen"] = "tcp://127.0.0.1:0";
    nixlBackendInitParams params{"first", plugin->name, &plugin->options};
    nixlBackendEngine* const engine = plugin->create_engine(&params);
    EXPECT_FALSE(engine->getInitErr());
    plugin->destroy_engine(engine);
    nixl_plugin_fini();
}

TEST(NixlOptions, WhatIsWrongIsTold) {
    support::LogWatch log;
    log.allow("the backend of agent");
    for (const nixl_b_params_t& options :
         {nixl_b_params_t{{"listen", "nowhere"}},
          nixl_b_params_t{{"listen", "tcp://127.0.0.1:0"}, {"deadline_seconds", "0"}},
          nixl_b_params_t{{"listen", "tcp://127.0.0.1:0"}, {"deadline_seconds", "4 s"}}}) {
        const Agent agent("first", options, 0);
        EXPECT_TRUE(agent.engine->getInitErr());
    }
    EXPECT_EQ(log.allowed(), 3u);
}

}  // namespace
}  // namespace cinnabar::nixl
