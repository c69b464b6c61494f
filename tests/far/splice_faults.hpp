// SPDX-License-Identifier: BSD-3-Clause
// What splice() and pipe2() do in this program: they fail as a test says, and are counted. One test at a time.
#pragma once

#include <atomic>
#include <functional>

namespace cinnabar::test {

struct SpliceFaults {
    // Counts begin anew, and nothing fails.
    SpliceFaults();
    ~SpliceFaults();
    SpliceFaults(const SpliceFaults&) = delete;
    SpliceFaults& operator=(const SpliceFaults&) = delete;

    // Before the first transfer. From that load on, counted from 1, each fails so; or `call` runs before that one.
    void fail_loads(int number, int os_errno);
    void before_load(int number, std::function<void()> call);

    std::atomic<int> loads{0};          // from files into pipes
    std::atomic<int> sends{0};          // from pipes into sockets
    std::atomic<int> send_errno{0};     // if not 0, each send fails so
    std::atomic<bool> no_room{false};   // in any socket
    std::atomic<bool> no_pipes{false};  // as if no descriptor were left for them

    // For splice() and pipe2().
    [[nodiscard]] static SpliceFaults* now();
    [[nodiscard]] int load_fails();

  private:
    int number_ = 0;
    int os_errno_ = 0;
    std::function<void()> call_;
};

}  // namespace cinnabar::test
