// SPDX-License-Identifier: BSD-3-Clause
// The completion queue of a port, polled or slept on. Owner of the context only.
#pragma once

#include "device.hpp"

#include <cinnabar/na/transport.hpp>

#include <span>
#include <vector>

namespace cinnabar::verbs {

class CompletionQueue final : public na::FdEvents {
  public:
    explicit CompletionQueue(na::PortHost& host) noexcept : host_(host) {}
    ~CompletionQueue() { close(); }
    // io, out_of_memory.
    [[nodiscard]] Result<void> open(const Device& device, std::uint32_t entries, void* owner);
    // Requires: no queue pair uses it any more.
    void close() noexcept;
    [[nodiscard]] ibv_cq* get() const noexcept { return queue_; }

    // How many there are, at most out.size(); if they are less, there were no more.
    [[nodiscard]] std::size_t poll(std::span<ibv_wc> out) noexcept;
    // Asks the device to tell of the next completion; false when there is one already.
    [[nodiscard]] bool arm() noexcept;
    // A queue pair is about to be destroyed, which may take what it left in the queue away: keeps that.
    void fetch_all() noexcept;
    // It is destroyed: what it left loses its number, before another gets the same.
    void forget(std::uint32_t queue_pair) noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

  private:
    na::PortHost& host_;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    bool armed_ = false;
    unsigned events_ = 0;  // not acknowledged yet
    std::vector<ibv_wc> fetched_;
    std::size_t fetched_begin_ = 0;
};

}  // namespace cinnabar::verbs
