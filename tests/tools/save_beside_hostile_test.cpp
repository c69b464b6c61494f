// SPDX-License-Identifier: BSD-3-Clause
// An honest client saves a folder, half of it with --push, and fetches it back, while peers that follow the format but
// break the rules of use attack the same server, or clients attack the sessions of its service. The client's files are
// complete, it takes at most twice as long as beside peers that are as busy but honest, and the server keeps nothing of
// the other peers when they have gone: no memory, file or descriptor.
//
// The time is that of a wall clock, because the crowd, the server and its disk each have threads. Measurements beside
// both kinds of peers alternate, and one pair within the bounds is enough: noise only adds time.
#include "../hostile/crowd.hpp"
#include "process.hpp"
#include "session_crowd.hpp"
#include "support/content.hpp"
#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/sanitizers.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
// Below this, a pause by the scheduler decides.
constexpr std::chrono::duration<double> floor_seconds{support::sanitized ? 3.0 : 0.3};
constexpr std::chrono::seconds save_limit{support::sanitized ? 60 : 20};
// After which a server gives up whoever is silent. Under the thread sanitizer the honest may be silent for a second.
constexpr std::chrono::seconds silence_limit{support::thread_sanitizer ? 5 : 1};
// What a pair of measurements may leave behind. A single peer can make the server hold several times as much.
constexpr std::size_t kept_for_results_max = 32u << 20;
constexpr std::size_t memory_noise = (12u << 20) + kept_for_results_max;
constexpr std::size_t memory_noise_ofi = memory_noise + (20u << 20);  // a provider has memory pools for each connection
constexpr std::size_t large_result_bytes = 1u << 20;                  // larger than a message
constexpr unsigned held_max = 8;                                      // beyond this the server refuses
// Small files, windows that are not full, and files of several windows.
constexpr std::size_t sizes[] = {0, 1, 4'097, 70'000, (1u << 20) + 1, 2'100'000};

std::size_t descriptors_open() {
    const fs::directory_iterator folder("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

// Of this process, so including the crowd, whose peers have gone by then.
std::size_t memory_resident() {
    (void)::malloc_trim(0);
    std::ifstream statm("/proc/self/statm");
    std::size_t whole = 0;
    std::size_t resident = 0;
    statm >> whole >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Saves the folder in both modes, and fetches it back.
hl::Task<Result<void>> save_and_fetch(files::Client& session, const fs::path& folder, std::string prefix,
                                      const files::Root& back) {
    Result<void> result;
    bool push = false;
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (!result) break;
        names.push_back(prefix + entry.path().filename().string());
        push = !push;
        const auto saved = co_await session.save(entry.path().string(), names.back(), {.push = push});
        if (!saved) result = saved.error();
    }
    for (const std::string& name : names) {
        if (!result) break;
        const auto fetched = co_await session.fetch(name, back);
        if (!fetched) result = fetched.error();
    }
    co_await session.close();
    co_return result;
}

struct SessionAttack {
    const char* name;
    SessionCrowd::Does does;
};
constexpr SessionAttack session_attacks[] = {
    {"LogsInHalves", SessionCrowd::Does::half_logins},
    {"LogsInWrong", SessionCrowd::Does::wrong_logins},
    {"OpensAndIsSilent", SessionCrowd::Does::opens_and_silent},
};

// The network that the crowd uses, and what it attacks.
struct Attack {
    NetworkKind network;
    const char* behaviour;
    const SessionAttack* session = nullptr;  // null: a behaviour of rude peers
};
std::ostream& operator<<(std::ostream& out, const Attack& attack) {
    return out << attack.behaviour << '_' << attack.network;
}

class SaveBesideHostile : public testing::TestWithParam<Attack> {
  protected:
    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        log_.allow("");  // the server logs what hostile peers do
        fs::create_directory(here_);
        fs::create_directory(folder_.at("root"));
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            const auto seed = static_cast<unsigned>(i);
            (void)folder_.put("here/file-" + std::to_string(i), pattern(sizes[i], seed));
        }
        server_ = files::Server::make(files::Root::serve(folder_.at("root")).value(), key()).value();
        hl::NodeOptions options;
        options.rpc.context.initial_credits = 8;  // also for hostile peers that never read of more
        options.rpc.stall_max = options.rpc.bulk.stall_max = options.rpc.result_kept_max = silence_limit;
        options.rpc.large_bytes_kept_max = kept_for_results_max;
        there_.emplace(hl::Node::listen(cable_ends().far_end, options).value());
        ASSERT_TRUE(server_->serve_on(*there_).ok());
        serve_others();
        for (unsigned i = 0; i < crowd_members; ++i) {
            seats_.push_back({network_.open("rude" + std::to_string(i), {.listen = false}).value()});
        }
    }
    // Serves what the behaviours call besides the service. `pulled` is left out, since memory lent as arguments is
    // pulled.
    void serve_others() {
        static constexpr hl::Rpc<void()> held{"held"};
        const auto hold = [this](hl::RequestOf<held> request) -> hl::Task<Result<void>> {
            ++asked_;
            if (held_ == held_max) co_return Result<void>();
            ++held_;
            (void)co_await request.node().sleep_for(std::chrono::milliseconds(50));
            --held_;
            co_return Result<void>();
        };
        const auto give = [this] {
            ++asked_;
            return std::string(large_result_bytes, 'x');
        };
        ASSERT_TRUE(there_->serve(hl::Rpc<void()>{"answered"}, [] {}).ok());
        ASSERT_TRUE(there_->serve(held, hold).ok());
        ASSERT_TRUE(there_->serve(hl::Rpc<std::string()>{"large result"}, give).ok());
    }
    [[nodiscard]] static files::Key key() { return files::Key::from("a key of at least 16 bytes").value(); }
    // The addresses of the clients and of the server.
    [[nodiscard]] static support::CableEnds cable_ends() {
        switch (GetParam().network) {
            case NetworkKind::tcp:
                return {"tcp://", "tcp://127.0.0.1:0"};
            case NetworkKind::ofi_tcp_rxm:
                return {"ofi+tcp;ofi_rxm://127.0.0.1:0", "ofi+tcp;ofi_rxm://127.0.0.1:0"};
            case NetworkKind::cable:
                return support::cable_ends().value();
            default:
                return {"shm://", "shm://"};
        }
    }
    [[nodiscard]] std::string uri() const { return there_->endpoints().front(); }
    [[nodiscard]] static std::string own() { return cable_ends().near_end; }

    // The seconds that a client needs to save and fetch the folder.
    double move_beside_rude(const hostile::Behaviour& behaviour) {
        return move(
            [&] { return std::make_unique<hostile::Crowd>(seats_, na::Addr::parse(uri()).value(), behaviour); });
    }
    double move_beside_attacked_sessions(SessionCrowd::Does does) {
        SessionCrowd* made = nullptr;
        return move(
            [&] {
                auto crowd = std::make_unique<SessionCrowd>(crowd_members, own(), uri(), key_, does);
                made = crowd.get();
                return crowd;
            },
            [&] {
                EXPECT_GT(made->served(), 0u);
                EXPECT_EQ(made->refused() > 0, does == SessionCrowd::Does::wrong_logins) << made->refused();
            });
    }
    double move(
        const std::function<std::unique_ptr<hostile::Others>()>& make_others,
        const std::function<void()>& look_at_them = [] {}) {
        const std::string prefix = std::to_string(saves_++) + "-";
        const auto here = hl::Node::open(own(), {.progress_thread = false}).value();
        files::Client session(here, here.lookup(uri()).value(), &key_);
        // Before the crowd comes: a crowd that dials all the time may keep others from connecting.
        EXPECT_TRUE(hl::sync_wait(session.open()).ok());
        const std::unique_ptr<hostile::Others> others = make_others();
        std::optional<hostile::CrowdThread> thread(std::in_place, *others);
        EXPECT_TRUE(eventually([&] { return others->began(); })) << "no peer of the crowd connects";
        const auto begin = std::chrono::steady_clock::now();
        const auto moved = hl::sync_wait(save_and_fetch(session, here_, prefix, back_));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        EXPECT_TRUE(moved.ok()) << moved.error().message();
        EXPECT_LT(took, save_limit);
        thread.reset();
        look_at_them();
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            const std::string name = "file-" + std::to_string(i);
            const std::string saved = folder_.get("root/" + prefix + name);
            EXPECT_TRUE(saved == folder_.get("here/" + name)) << prefix << name;
            EXPECT_TRUE(saved == folder_.get("back/" + prefix + name)) << prefix << name;
            names_.push_back(prefix + name);
        }
        return took.count();
    }
    [[nodiscard]] std::vector<std::string> files_below(const std::string& name) const {
        std::vector<std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(folder_.at(name))) {
            if (entry.is_regular_file()) files.push_back(entry.path().filename().string());
        }
        std::ranges::sort(files);
        return files;
    }
    void wait_until_all_is_gone() {
        rpc::Context::Counts left;
        EXPECT_TRUE(eventually([&] {
            left = there_->rpc_context().counts();
            return left.requests + left.transfers + left.connections + left.replies_unsent == 0 &&
                   left.large_bytes == 0;
        })) << left.requests
            << " requests, " << left.transfers << " transfers, " << left.connections << " connections, "
            << left.large_bytes << " bytes";
    }

    support::LogWatch log_;
    Folder folder_;
    const files::Key key_ = key();
    fs::path here_ = folder_.at("here");
    support::Network network_{GetParam().network};
    std::unique_ptr<files::Server> server_;
    files::Root back_ = files::Root::open((fs::create_directory(folder_.at("back")), folder_.at("back"))).value();
    std::atomic<unsigned> asked_{0};  // how many handlers of the crowd's own calls have run
    unsigned held_ = 0;               // how many of them are held; used only by the server's loop
    std::optional<hl::Node> there_;
    std::vector<hostile::Crowd::Seat> seats_;
    unsigned saves_ = 0;
    std::vector<std::string> names_;  // of all saved files
};

TEST_P(SaveBesideHostile, EndsWellInTime) {
    const SessionAttack* const session = GetParam().session;
    double calm = 0;
    double hostile = 0;
    bool in_bounds = false;
    std::size_t descriptors = 0;
    std::size_t memory = 0;
    for (unsigned pair = 0; pair < pairs_max && !(in_bounds && pair > 1) && !HasFailure(); ++pair) {
        if (!in_bounds) {  // otherwise one more time only to see what remains
            calm = move_beside_rude(hostile::busy_and_honest());
            wait_until_all_is_gone();
        }
        hostile = session ? move_beside_attacked_sessions(session->does)
                          : move_beside_rude(*hostile::behaviour(GetParam().behaviour));
        wait_until_all_is_gone();
        // ThreadSanitizer checks each byte that is moved, so its times do not show how fast transfers for others are.
        in_bounds = in_bounds || support::sanitized || hostile <= std::max(floor_seconds.count(), times_calm * calm);
        if (pair != 0) continue;
        descriptors = descriptors_open();  // from now on threads and pools have theirs
        memory = memory_resident();
    }
    EXPECT_TRUE(in_bounds) << hostile << " s beside hostile peers, " << calm << " s beside busy ones";
    const std::string_view name = GetParam().behaviour;
    EXPECT_TRUE(asked_ != 0 || (name != "CancelsWhatItAsks" && name != "FetchesNoResults" && name != "SendsOneWay"));
    EXPECT_TRUE(eventually([&] { return descriptors_open() <= descriptors; })) << descriptors_open() << " descriptors";
    if (!support::thread_sanitizer && !support::address_sanitizer) {  // sanitizers keep memory that was freed
        const std::size_t noise = network_.is_ofi() ? memory_noise_ofi : memory_noise;
        EXPECT_TRUE(eventually([&] { return memory_resident() <= memory + noise; }))
            << memory_resident() << " bytes of memory, " << memory << " before";
    }
    EXPECT_TRUE(server_->drain(std::chrono::seconds(5))) << "files are under way still";
    std::ranges::sort(names_);
    (void)eventually([&] { return files_below("root") == names_; });  // files that silent clients opened end, too
    EXPECT_EQ(files_below("root"), names_) << "files that were not saved are left";
}

// What attackers do to the network itself is tested over each in ../hostile. What the service makes of them is the same
// over all: the short plan asks over one.
std::vector<NetworkKind> networks_of_attacks() {
#ifdef CINNABAR_FULL_TESTS
    return {NetworkKind::tcp, NetworkKind::shm, NetworkKind::ofi_tcp_rxm, NetworkKind::cable};
#else
    return {NetworkKind::tcp, NetworkKind::cable};
#endif
}

std::vector<Attack> attacks() {
    const std::vector<NetworkKind> built = support::networks();
    std::vector<Attack> all;
    for (const NetworkKind network : networks_of_attacks()) {
        if (!std::ranges::count(built, network)) continue;
        for (const hostile::Behaviour& behaviour : hostile::behaviours()) all.push_back({network, behaviour.name});
        for (const SessionAttack& attack : session_attacks) all.push_back({network, attack.name, &attack});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Over, SaveBesideHostile, testing::ValuesIn(attacks()), testing::PrintToStringParamName());

}  // namespace
}  // namespace cinnabar::tools
