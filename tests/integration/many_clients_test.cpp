// SPDX-License-Identifier: BSD-3-Clause
// Many client processes use one server at the same time; the server needs a bounded amount of memory for each.
#include "two_process.hpp"
#include "ways.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

constexpr std::size_t clients_default = 50;
// With providers for development, each client takes a second or more.
constexpr std::size_t clients_of_slow_ways = support::thread_sanitizer ? 8 : 20;
constexpr const char* calls_each = "200";
constexpr int limit_ms = 100'000;
// The server's memory per client: two shared-memory rings of 64 KiB with their pages, and the state of the higher
// layers. tcp needs far less. Sanitizers need more per byte.
constexpr std::uint64_t bytes_per_client_max = (support::thread_sanitizer ? 1280 : 512) * 1024;

// With RDMA all clients share receive slots, which are allocated for the first few clients: 1024 slots of 16 KiB, and
// spares.
constexpr std::uint64_t bytes_of_receive_slots_max = 20u << 20;

bool is_fabric(const std::string& way) { return way.starts_with("ofi_"); }

// CINNABAR_CLIENTS overrides the number.
std::size_t clients_wanted(const std::string& way) {
    if (const char* wanted = std::getenv("CINNABAR_CLIENTS")) return std::strtoul(wanted, nullptr, 10);
    const bool slow = way == "ofi_sockets" || way == "ofi_udp_rxd" || (support::thread_sanitizer && is_fabric(way));
    return slow ? clients_of_slow_ways : clients_default;
}

std::uint64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t whole = 0;
    std::uint64_t resident = 0;
    statm >> whole >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

class Client {
  public:
    Client(const std::string& server, const std::string& open) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        std::array<char*, 5> words{const_cast<char*>(CINNABAR_MANY_CLIENTS_CLIENT), const_cast<char*>(server.c_str()),
                                   const_cast<char*>(calls_each), const_cast<char*>(open.c_str()), nullptr};
        EXPECT_EQ(::posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        stdin_ = in[1];
        stdout_ = out[0];
    }
    ~Client() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        if (stdin_ >= 0) ::close(stdin_);
        ::close(stdout_);
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    [[nodiscard]] bool is_done() const {
        pollfd ready{stdout_, POLLIN, 0};
        char letter = 0;
        return ::poll(&ready, 1, limit_ms) == 1 && ::read(stdout_, &letter, 1) == 1;
    }
    void let_go() {
        ::close(stdin_);
        stdin_ = -1;
    }
    [[nodiscard]] int end() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t pid_ = -1;
    int stdin_ = -1;
    int stdout_ = -1;
};

class ManyClients : public testing::TestWithParam<Way> {};
CINNABAR_ON_EACH_WAY(ManyClients);

TEST_P(ManyClients, are_all_served_and_cost_a_bounded_amount_of_memory) {
    auto server = Node::listen(GetParam().listen, {.progress_thread = true}).value();
    ASSERT_TRUE(server.serve(twice, [](int value) { return 2 * value; }).ok());
    ASSERT_TRUE(server
                    .serve(checksum,
                           [](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
                               auto buffer = request.node().buffers().take(request->size());
                               if (!buffer) co_return buffer.error();
                               if (auto moved = co_await request->pull(*buffer); !moved) co_return moved;
                               std::uint64_t sum = 0;
                               for (const std::byte byte : buffer->bytes()) {
                                   sum = sum * 31 + static_cast<std::uint64_t>(byte);
                               }
                               co_return sum;
                           })
                    .ok());
    const std::size_t clients = clients_wanted(GetParam().name);
    const std::uint64_t before = resident_bytes();
    std::vector<std::unique_ptr<Client>> all;
    for (std::size_t i = 0; i < clients; ++i) {
        all.push_back(std::make_unique<Client>(server.address(), GetParam().open));
    }
    for (const auto& client : all) ASSERT_TRUE(client->is_done());
    const std::uint64_t grown = resident_bytes() - std::min(before, resident_bytes());
    const std::uint64_t shared = GetParam().name == "cable" ? bytes_of_receive_slots_max : 0;
    const bool sanitizer = support::sanitized;
    if (!sanitizer || !is_fabric(GetParam().name)) {
        EXPECT_LE((grown - std::min(grown, shared)) / clients, bytes_per_client_max);
    }
    RecordProperty("kib_per_client", std::to_string(grown / clients / 1024));
    for (const auto& client : all) client->let_go();
    for (const auto& client : all) EXPECT_EQ(client->end(), 0);
}

}  // namespace
}  // namespace cinnabar::test
