// SPDX-License-Identifier: BSD-3-Clause
// The process at the other end of a session, for copies across its address space. Those name it by its number, which
// another process may have once it is dead: so the kernel is asked, by a descriptor that never means another process,
// whether it is still there. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <sys/types.h>

namespace cinnabar::shm {

class PeerProcess {
  public:
    // How long an answer of the kernel is believed: far less than it takes until a number is given out again.
    static constexpr TimeUs fresh_us = 100;

    // False when there is no such process, or the kernel has no such descriptors (Linux 5.3) or denies them.
    [[nodiscard]] bool open(pid_t pid) noexcept;
    // Whether it runs, and its end of `socket` is open: a process that executes another program closes that. -1: does
    // not look at a socket. Requires: open.
    [[nodiscard]] bool is_there(int socket) noexcept;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }  // -1 when not open

  private:
    pid_t pid_ = 0;
    UniqueFd fd_;  // a pidfd
    TimeUs seen_at_ = 0;
};

}  // namespace cinnabar::shm
