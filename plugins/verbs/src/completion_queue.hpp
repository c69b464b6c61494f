// SPDX-License-Identifier: BSD-3-Clause
// The completion queue of a port, which can be polled or waited for. Owner of the context only.
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
    // Requires: no queue pair still uses it.
    void close() noexcept;
    [[nodiscard]] ibv_cq* get() const noexcept { return queue_; }

    // Takes completions; returns how many. Fewer than out.size(): the queue is empty.
    [[nodiscard]] std::size_t poll(std::span<ibv_wc> out) noexcept;
    // Asks the device to report the next completion. False: one has arrived already.
    [[nodiscard]] bool arm() noexcept;
    // Call it before a queue pair is destroyed: copies all completions, because destroying the queue pair may drop its
    // completions.
    void fetch_all() noexcept;
    // Call it after a queue pair is destroyed: drops the completions of its sends, and removes its number from the
    // completions of its receives, because another queue pair may get the same number.
    void forget(std::uint32_t queue_pair) noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

  private:
    na::PortHost& host_;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    bool armed_ = false;
    unsigned events_ = 0;  // completion events that were not acknowledged yet
    std::vector<ibv_wc> fetched_;
    std::size_t fetched_begin_ = 0;
};

}  // namespace cinnabar::verbs
