// SPDX-License-Identifier: BSD-3-Clause
// Closes descriptors that came from other users, in threads of its own. Another user can make close() block for any
// time: a TCP socket may linger, a file system may ask a server of that user, and a UNIX socket closes the unread
// descriptors in it. So threads that drive a context must not call close() on such descriptors. Each user whose
// descriptors are to be closed has a thread (threads_max users at a time), so that no user can delay the descriptors of
// another. One object per process. Any thread. docs/limits.md.
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
    static constexpr std::size_t of_user_max = 1024;  // at this number, connections of that user are rejected
    static constexpr std::size_t waiting_max = 4096;  // at this number, connections of all users are rejected
    static constexpr unsigned threads_max = 64;

    // Never destroyed: its threads may be blocked when the process exits. A forked child gets a new one.
    static LateCloses& of_process() noexcept;

    // Closes `fd` soon, or at once if out of memory.
    void add(UniqueFd fd, uid_t user) noexcept;
    // Whether of_user_max descriptors of that user, or waiting_max of all users together, wait to be closed.
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
