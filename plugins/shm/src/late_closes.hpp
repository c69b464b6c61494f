// SPDX-License-Identifier: BSD-3-Clause
// Closes descriptors that came from other users. Another user can make close() block for as long as they like: a TCP
// socket lingers, a file system asks a server of theirs, and a UNIX socket closes the unread descriptors in it. So no
// thread that drives a context calls it. Each user has a thread of its own while there is something to close, so that
// nobody waits for another. One for the process. Any thread. docs/limits.md.
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
    static constexpr std::size_t of_user_max = 1024;  // above that, connections of the user are rejected
    static constexpr std::size_t waiting_max = 4096;  // above that, all are
    static constexpr unsigned threads_max = 64;

    // Never destroyed: its threads may be blocked when the process ends. A forked child gets a new one.
    static LateCloses& of_process() noexcept;

    // Closes it soon; at once if there is no memory to queue it.
    void add(UniqueFd fd, uid_t user) noexcept;
    // Whether of_user_max descriptors of that user wait to be closed, or waiting_max of all users together.
    [[nodiscard]] bool crowded_by(uid_t user) const noexcept;
    [[nodiscard]] bool crowded() const noexcept;

  private:
    struct Account {
        std::deque<UniqueFd> waiting;  // if `served`, the first is being closed
        bool served = false;
    };
    static void* run(void* self);
    void serve(Account& account, std::unique_lock<std::mutex>& lock) noexcept;

    mutable std::mutex mutex_;
    std::map<uid_t, Account> accounts_;  // of users with descriptors to close
    std::size_t waiting_ = 0;
    unsigned threads_ = 0;
};

}  // namespace cinnabar::shm
