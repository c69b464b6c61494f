// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that other users had a hand in, on their way to be closed. That may last for as long as the other user
// likes: a TCP socket lingers, a file system asks a server of theirs, and a UNIX socket closes what lies unread in it.
// So no thread that drives a context does it. Each user has a thread of its own for as long as there is something to
// close: whoever stops it waits alone. One for the process. Any thread. docs/limits.md.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>

namespace cinnabar::shm {

class LateCloses {
  public:
    static constexpr std::size_t of_user_max = 1024;  // above that, the user is no longer let in
    static constexpr std::size_t waiting_max = 4096;  // above that, nobody is
    static constexpr unsigned threads_max = 64;

    // Never destroyed: its threads may wait when the process ends. A forked child gets a new one.
    static LateCloses& of_process() noexcept;

    // Closes it soon. Here and now if there is no memory to remember it.
    void add(UniqueFd fd, uid_t user) noexcept;
    // That user has of_user_max that are not closed; all users together have waiting_max.
    [[nodiscard]] bool crowded_by(uid_t user) const noexcept;
    [[nodiscard]] bool crowded() const noexcept;

  private:
    struct Account {
        std::deque<UniqueFd> waiting;  // the first of a user who is served is being closed
        bool served = false;
    };
    static void* run(void* self);
    void serve(Account& account, std::unique_lock<std::mutex>& lock) noexcept;

    mutable std::mutex mutex_;
    std::map<uid_t, Account> accounts_;  // of those for whom something waits
    std::size_t waiting_ = 0;
    unsigned threads_ = 0;
};

}  // namespace cinnabar::shm
