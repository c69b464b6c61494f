// SPDX-License-Identifier: BSD-3-Clause
#include "splice.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <ctime>

namespace cinnabar::tcp {
namespace {

// Blocks SIGPIPE in this thread while the object lives, because splice() has no MSG_NOSIGNAL. If splice() has raised
// the signal, call take_back() to remove it: otherwise the signal would be delivered as soon as SIGPIPE is unblocked.
// If the caller had blocked SIGPIPE itself, take_back() does nothing.
class NoSigpipe {
  public:
    NoSigpipe() noexcept {
        (void)sigemptyset(&pipe_);
        (void)sigaddset(&pipe_, SIGPIPE);
        (void)::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoSigpipe() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    NoSigpipe(const NoSigpipe&) = delete;
    NoSigpipe& operator=(const NoSigpipe&) = delete;
    void take_back() const noexcept {
        if (sigismember(&before_, SIGPIPE) == 1) return;  // the caller has blocked it
        constexpr timespec at_once{};
        while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }

  private:
    sigset_t pipe_{};
    sigset_t before_{};
};

na::Moved moved_of(ssize_t count) noexcept {
    if (count > 0) return {static_cast<std::size_t>(count), Errc::ok};
    if (count < 0 && (errno == EAGAIN || errno == ENOMEM)) return {0, Errc::again};
    // The file system has taken back pages that are in the pipe; network file systems do that.
    if (count == 0 || errno == EIO || errno == ENODATA) return {0, Errc::io};
    return {0, Errc::peer_lost};
}

}  // namespace

na::Moved splice_some(int socket, int pipe, std::size_t bytes) noexcept {
    const NoSigpipe quiet;
    const ssize_t count = ::splice(pipe, nullptr, socket, nullptr, bytes, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (count < 0 && errno == EPIPE) quiet.take_back();
    return moved_of(count);
}

}  // namespace cinnabar::tcp
