// SPDX-License-Identifier: BSD-3-Clause
// Accepts on a transport's listening socket for one port. Every port watches the listening socket; whichever wakes
// first accepts, for all. Without descriptors it rests for a moment, or the backlog would wake the context again and
// again. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::na {

class CINNABAR_API Acceptor : public FdEvents {
  public:
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    // Begins to watch the listening socket; below 0: there is none. False, with errno, when the kernel refuses.
    [[nodiscard]] bool watch(int listener) noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept override;

  protected:
    // `scheme` is what the log calls the transport, and outlives this.
    Acceptor(PortHost& host, const char* scheme) noexcept;
    ~Acceptor() = default;
    // Logs why what was accepted is closed again.
    void no_memory() const noexcept;
    // Ends the watch. Requires: called before the host goes.
    void stop() noexcept;

  private:
    virtual void admit(UniqueFd fd) noexcept = 0;
    // False: it rests for a moment, as without descriptors.
    [[nodiscard]] virtual bool may_accept() const noexcept = 0;
    // Frees a descriptor, if it holds one.
    [[nodiscard]] virtual bool make_room() noexcept = 0;
    [[nodiscard]] bool watch_again() noexcept;
    void unwatch() noexcept;
    void out_of_descriptors(int os_errno) noexcept;
    void rest() noexcept;
    static void resume(Timer& timer) noexcept;

    PortHost& host_;
    const char* const scheme_;
    int listener_ = -1;
    bool watching_ = false;
    bool complained_ = false;
    TimerOf<Acceptor> pause_;
};

}  // namespace cinnabar::na
