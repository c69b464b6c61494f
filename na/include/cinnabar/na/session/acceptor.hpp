// SPDX-License-Identifier: BSD-3-Clause
// Accepts connections from a transport's listening socket for one port. Each port watches the listening socket, and the
// first one that wakes up accepts the connection, whichever context the connection is for. When the process is out of
// descriptors, the acceptor pauses for a moment; otherwise the backlog would wake the context again and again. Owner of
// the context only.
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

    // Begins to watch the listening socket (negative: there is none). False, with errno: the kernel refused.
    [[nodiscard]] bool watch(int listener) noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept override;

  protected:
    // `scheme` names the transport in log lines; the text must outlive this object.
    Acceptor(PortHost& host, const char* scheme) noexcept;
    ~Acceptor() = default;
    // Logs that a connection was closed for lack of memory.
    void no_memory() const noexcept;
    // Stops watching. Must be called before the host is destroyed.
    void stop() noexcept;

  private:
    virtual void admit(UniqueFd fd) noexcept = 0;
    // False: stop accepting for a moment, as when the process is out of descriptors.
    [[nodiscard]] virtual bool may_accept() const noexcept = 0;
    // Frees a descriptor if the derived class holds one that it can spare; returns whether it did.
    [[nodiscard]] virtual bool make_room() noexcept = 0;
    [[nodiscard]] bool watch_again() noexcept;
    void unwatch() noexcept;
    void out_of_descriptors(int os_errno) noexcept;
    void rest() noexcept;
    void resume() noexcept;

    PortHost& host_;
    const char* const scheme_;
    int listener_ = -1;
    bool watching_ = false;
    bool complained_ = false;
    TimerOf<Acceptor> pause_;
};

}  // namespace cinnabar::na
