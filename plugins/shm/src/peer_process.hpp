// SPDX-License-Identifier: BSD-3-Clause
// The process at the other end of a session, for copies across address spaces. The system calls for such copies take a
// process id, which may be reused after the process has died. A pidfd, which always names the same process, tells
// whether the process still lives. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/types.h>

namespace cinnabar::shm {

class PeerProcess {
  public:
    // How long the result of a check is used: far shorter than the time until a process id is reused.
    static constexpr TimeUs fresh_us = 100;

    // False: no such process, or the kernel lacks pidfds (before Linux 5.3) or denies it.
    [[nodiscard]] bool open(pid_t pid) noexcept;
    // Whether the process lives and still has its end of `socket` open (exec closes it). `socket` -1: checks only the
    // process. Requires: open.
    [[nodiscard]] bool is_there(int socket) noexcept;

    // Whether the process has ended, also if nobody has waited for it yet. False if not open.
    [[nodiscard]] bool has_ended() const noexcept;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }  // -1 when not open

  private:
    pid_t pid_ = 0;
    UniqueFd fd_;  // a pidfd
    TimeUs seen_at_ = 0;
};

}  // namespace cinnabar::shm
