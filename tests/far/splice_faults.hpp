// SPDX-License-Identifier: BSD-3-Clause
// Replaces splice() and pipe2() in this program: they fail as a test says, and are counted. Only one may exist at a
// time.
#pragma once

#include <atomic>
#include <functional>

namespace cinnabar::test {

struct SpliceFaults {
    // All counts are 0, and nothing fails.
    SpliceFaults();
    ~SpliceFaults();
    SpliceFaults(const SpliceFaults&) = delete;
    SpliceFaults& operator=(const SpliceFaults&) = delete;

    // Call these before the first transfer. Each load fails with `os_errno` from that number on, counted from 1; or
    // `call` runs before the load of that number.
    void fail_loads(int number, int os_errno);
    void before_load(int number, std::function<void()> call);

    std::atomic<int> loads{0};          // from files into pipes
    std::atomic<int> sends{0};          // from pipes into sockets
    std::atomic<int> send_errno{0};     // if not 0, each send fails with it
    std::atomic<bool> no_room{false};   // no socket has room
    std::atomic<bool> no_pipes{false};  // as if there were no descriptors for pipes

    // The object that exists; used by splice() and pipe2().
    [[nodiscard]] static SpliceFaults* now();
    [[nodiscard]] int load_fails();

  private:
    int number_ = 0;
    int os_errno_ = 0;
    std::function<void()> call_;
};

}  // namespace cinnabar::test
