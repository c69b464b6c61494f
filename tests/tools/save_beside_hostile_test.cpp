// SPDX-License-Identifier: BSD-3-Clause
// An honest client saves a folder while peers that follow the format and break the manners attack the same server. Its
// files get there whole, it takes at most twice as long as beside peers that are as busy and honest, and the server
// keeps nothing of the others when they are gone.
//
// The time is that of a clock on the wall: the crowd, the server and its disk each have threads. Saves beside both
// kinds take turns, and one pair in bounds is enough: noise only ever adds.
#include "../hostile/crowd.hpp"
#include "process.hpp"
#include "support/content.hpp"
#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

using support::NetworkKind;

constexpr unsigned crowd_members = 3;
constexpr unsigned pairs_max = 4;
constexpr double times_calm = 2.0;
// Below it a pause of the scheduler decides.
constexpr std::chrono::duration<double> floor_seconds{support::thread_sanitizer || support::address_sanitizer ? 3.0
                                                                                                              : 0.2};
constexpr std::chrono::seconds save_limit{20};
// Small ones, windows that are not full, and some of several windows.
constexpr std::size_t sizes[] = {0, 1, 4'097, 70'000, 1u << 20, (1u << 20) + 1, 2'000'000, 100, 2'000, 3'000'000};

std::size_t descriptors_open() {
    const fs::directory_iterator folder("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

hl::Task<Result<void>> save_all(files::Client& session, const fs::path& folder, std::string prefix) {
    Result<void> result;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (!result) break;
        const auto moved = co_await session.save(entry.path().string(), prefix + entry.path().filename().string());
        if (!moved) result = moved.error();
    }
    co_await session.close();
    co_return result;
}

// Where the crowd's peers come from, and what they attack.
struct Attack {
    NetworkKind network;
    const char* behaviour;
};
std::ostream& operator<<(std::ostream& out, const Attack& attack) {
    return out << attack.behaviour << '_' << attack.network;
}

class SaveBesideHostile : public testing::TestWithParam<Attack> {
  protected:
    void SetUp() override {
        log_.allow("");  // it says what strangers do
        fs::create_directory(here_);
        fs::create_directory(folder_.at("root"));
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            const auto seed = static_cast<unsigned>(i);
            (void)folder_.put("here/file-" + std::to_string(i), pattern(sizes[i], seed));
        }
        server_ = files::Server::make(files::Root::serve(folder_.at("root")).value(), std::nullopt).value();
        hl::NodeOptions options;
        options.rpc.context.initial_credits = 8;  // also for one that never reads of more
        options.rpc.stall_max = options.rpc.bulk.stall_max = std::chrono::seconds(1);
        there_.emplace(hl::Node::listen(tcp() ? "tcp://127.0.0.1:0" : "shm://", options).value());
        ASSERT_TRUE(server_->serve_on(*there_).ok());
        // What the behaviours call besides the service.
        ASSERT_TRUE(there_->serve(hl::Rpc<void()>{"answered"}, [] {}).ok());
        for (unsigned i = 0; i < crowd_members; ++i) {
            places_.push_back({network_.open("rude" + std::to_string(i), {.listen = false}).value()});
        }
    }
    [[nodiscard]] bool tcp() const { return GetParam().network == NetworkKind::tcp; }
    [[nodiscard]] std::string uri() const { return there_->endpoints().front(); }

    // The seconds that a client needs for the folder.
    double save(const hostile::Behaviour& behaviour) {
        const std::string prefix = std::to_string(saves_++) + "-";
        const auto here = hl::Node::open(tcp() ? "tcp://" : "shm://", {.progress_thread = false}).value();
        files::Client session(here, here.lookup(uri()).value(), nullptr);
        // Before they come: a crowd that dials without end may keep others from the listener.
        EXPECT_TRUE(hl::sync_wait(session.open()).ok());
        hostile::Crowd crowd(places_, na::Addr::parse(uri()).value(), behaviour);
        const hostile::CrowdThread thread(crowd);
        EXPECT_TRUE(eventually([&] { return crowd.began(); })) << "no peer of the crowd connects";
        const auto begin = std::chrono::steady_clock::now();
        const auto saved = hl::sync_wait(save_all(session, here_, prefix));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        EXPECT_TRUE(saved.ok()) << saved.error().message();
        EXPECT_LT(took, save_limit);
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            const std::string name = "file-" + std::to_string(i);
            EXPECT_TRUE(folder_.get("root/" + prefix + name) == folder_.get("here/" + name)) << prefix << name;
        }
        return took.count();
    }
    void wait_until_all_is_gone() {
        rpc::Context::Counts left;
        EXPECT_TRUE(eventually([&] {
            left = there_->rpc_context().counts();
            return left.requests + left.transfers + left.connections + left.replies_unsent == 0 &&
                   left.overflow_bytes == 0;
        })) << left.requests
            << " requests, " << left.transfers << " transfers, " << left.connections << " connections, "
            << left.overflow_bytes << " bytes";
    }

    support::LogWatch log_;
    Folder folder_;
    fs::path here_ = folder_.at("here");
    support::Network network_{GetParam().network};
    std::unique_ptr<files::Server> server_;
    std::optional<hl::Node> there_;
    std::vector<hostile::Crowd::Place> places_;
    unsigned saves_ = 0;
};

TEST_P(SaveBesideHostile, EndsWellInTime) {
    const hostile::Behaviour& behaviour = *hostile::behaviour(GetParam().behaviour);
    double calm = 0;
    double hostile = 0;
    bool in_bounds = false;
    std::size_t descriptors = 0;
    for (unsigned pair = 0; pair < pairs_max && !(in_bounds && pair > 1) && !HasFailure(); ++pair) {
        calm = save(hostile::busy_and_honest());
        wait_until_all_is_gone();
        hostile = save(behaviour);
        wait_until_all_is_gone();
        in_bounds = in_bounds || hostile <= std::max(floor_seconds.count(), times_calm * calm);
        if (pair == 0) descriptors = descriptors_open();  // threads and pools have theirs from now on
    }
    EXPECT_TRUE(in_bounds) << hostile << " s beside hostile peers, " << calm << " s beside busy ones";
    EXPECT_TRUE(eventually([&] { return descriptors_open() <= descriptors; })) << descriptors_open() << " descriptors";
}

std::vector<Attack> attacks() {
    const std::vector<NetworkKind> built = support::networks();
    std::vector<Attack> all;
    for (const NetworkKind network : {NetworkKind::tcp, NetworkKind::shm}) {
        if (!std::ranges::count(built, network)) continue;
        for (const char* behaviour : {"FloodsUnread", "AsksForEverything", "SendsNoFrames", "PingsWithoutEnd",
                                      "CancelsWithoutEnd", "LendsAndIsSilent"}) {
            all.push_back({network, behaviour});
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Over, SaveBesideHostile, testing::ValuesIn(attacks()), testing::PrintToStringParamName());

}  // namespace
}  // namespace cinnabar::tools
