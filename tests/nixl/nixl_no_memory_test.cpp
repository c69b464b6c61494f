// SPDX-License-Identifier: BSD-3-Clause
// Memory runs out while a transfer is posted. This is a program of its own, because its malloc is replaced.
#include "nixl/src/engine.hpp"
#include "support/allocation_count.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/hl/share.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <span>
#include <thread>
#include <vector>

namespace cinnabar::nixl {
namespace {

// More parts than one call has, and no blocks of one size.
constexpr std::size_t pieces = hl::remote_parts_max + 2;
constexpr std::size_t part_bytes = 16;

nixlMetaDesc part_of(const std::vector<std::byte>& memory, std::size_t number, nixlBackendMD* metadata) {
    nixlMetaDesc made;
    made.addr = reinterpret_cast<std::uintptr_t>(memory.data()) + number * part_bytes;
    made.len = part_bytes - number % 2;
    made.metadataP = metadata;
    return made;
}

struct Posted;

// The other agent never answers, so what was sent is in progress until it is canceled.
class NixlNoMemory : public testing::Test {
  protected:
    void SetUp() override {
        if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
        ASSERT_FALSE(engine_.getInitErr());
        nixlBlobDesc mine;
        mine.addr = reinterpret_cast<std::uintptr_t>(memory_.data());
        mine.len = memory_.size();
        ASSERT_EQ(engine_.registerMem(mine, DRAM_SEG, local_), NIXL_SUCCESS);
        ASSERT_EQ(engine_.loadRemoteConnInfo("other", other_.address()), NIXL_SUCCESS);
        nixlBlobDesc theirs;
        theirs.addr = reinterpret_cast<std::uintptr_t>(others_.data());
        theirs.len = others_.size();
        theirs.metaInfo = encode_token(shared_.token(Names::any_version));
        ASSERT_EQ(engine_.loadRemoteMD(theirs, DRAM_SEG, "other", remote_), NIXL_SUCCESS);
        for (std::size_t i = 0; i < pieces; ++i) {
            to_.addDesc(part_of(memory_, i, local_));
            from_.addDesc(part_of(others_, i, remote_));
        }
    }
    void TearDown() override {
        if (local_) {
            EXPECT_EQ(engine_.deregisterMem(local_), NIXL_SUCCESS);
        }
        if (remote_) {
            EXPECT_EQ(engine_.unloadMD(remote_), NIXL_SUCCESS);
        }
    }
    // Posts the transfer with memory for so many allocations, and ends it.
    [[nodiscard]] Posted post(std::uint64_t spared);

    nixl_b_params_t options_{{"listen", "tcp://127.0.0.1:0"}};
    nixlBackendInitParams params_{"first", Engine::name, &options_};
    std::vector<std::byte> memory_ = std::vector<std::byte>(pieces * part_bytes);
    std::vector<std::byte> others_ = std::vector<std::byte>(pieces * part_bytes);
    hl::Node other_ = hl::Node::listen("tcp://127.0.0.1:0", {.progress_thread = false}).value();
    hl::SharedBytes shared_ =
        hl::share_bytes(other_, other_.expose(std::span(others_)).value(), na::Access::read).value();
    Engine engine_{&params_};
    nixlBackendMD* local_ = nullptr;
    nixlBackendMD* remote_ = nullptr;
    nixl_meta_dlist_t to_{DRAM_SEG};
    nixl_meta_dlist_t from_{DRAM_SEG};
};

// Holds up the loop where it logs the end of a transfer, until let_go(). Destroyed when no transfer is in progress.
class EndIsHeld {
  public:
    EndIsHeld() {
        EXPECT_EQ(set_log_level("nixl", LogLevel::info), Errc::ok);
        set_log_sink(&take, this);
    }
    ~EndIsHeld() {
        set_log_sink(nullptr, nullptr);
        EXPECT_EQ(set_log_level("nixl", LogLevel::warning), Errc::ok);
    }
    EndIsHeld(const EndIsHeld&) = delete;
    EndIsHeld& operator=(const EndIsHeld&) = delete;
    void let_go() { go_.set_value(); }

  private:
    static void take(const LogLine&, void* user) {
        const auto& held = *static_cast<const EndIsHeld*>(user);
        if (std::this_thread::get_id() != held.poster_) held.may_go_.wait();
    }
    const std::thread::id poster_ = std::this_thread::get_id();
    std::promise<void> go_;
    const std::shared_future<void> may_go_ = go_.get_future().share();
};

struct Posted {
    std::uint64_t allocations = 0;  // made by the post
    bool is_in_progress = false;    // unless the post has ended it itself
};

Posted NixlNoMemory::post(std::uint64_t spared) {
    nixlBackendReqH* handle = nullptr;
    EXPECT_EQ(engine_.prepXfer(NIXL_READ, to_, from_, "other", handle, nullptr), NIXL_SUCCESS);
    std::uint64_t left = spared;
    EndIsHeld held;
    {
        const support::NoMemory out(left);
        EXPECT_EQ(engine_.postXfer(NIXL_READ, to_, from_, "other", handle, nullptr), NIXL_IN_PROG);
    }
    const Posted posted{spared - left, engine_.checkXfer(handle) == NIXL_IN_PROG};
    held.let_go();
    while (engine_.releaseReqH(handle) == NIXL_ERR_REPOST_ACTIVE) {
    }
    return posted;
}

// The last allocations of a post are those of its last call.
TEST_F(NixlNoMemory, APostThatWasSentInPartEndsWithWhatWasSent) {
    constexpr std::uint64_t plenty = 1'000'000;
    (void)post(plenty);  // what only the first one needs
    const Posted whole = post(plenty);
    EXPECT_TRUE(whole.is_in_progress);
    const Posted part = post(whole.allocations - 1);
    EXPECT_EQ(part.allocations, whole.allocations - 1);
    EXPECT_TRUE(part.is_in_progress) << "its first call was sent";
}

}  // namespace
}  // namespace cinnabar::nixl
