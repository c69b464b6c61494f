// SPDX-License-Identifier: BSD-3-Clause
// ChunkSources: the processes from which a member can fetch its portion. Each delivery of the call names one such
// process. The newest one is used, because it is the process that took over from a dead member. A process that delivers
// the call once more to a member that was lost is only a spare, because that process may have been lost itself. Any
// thread.
#pragma once

#include "signal.hpp"

#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>

namespace cinnabar::group {

struct ChunkSource {
    na::Addr address;
    std::uint64_t ticket = 0;
    std::uint64_t number = 0;  // counts sources from 1; 0: there is none
    std::stop_token replaced;  // stopped when a newer source replaces this one, or this one is lost
};

class ChunkSources {
  public:
    void add(na::Addr address, std::uint64_t ticket);
    // Adds a source that is used once the newest one has failed; if it is the newest one itself, it is used at once.
    void add_spare(na::Addr address, std::uint64_t ticket);
    // Call when the source with this number was lost.
    void failed(std::uint64_t number);
    [[nodiscard]] ChunkSource newest() const;
    // ok: there is a source newer than `number`. timed_out: the task's deadline or `span` has passed; canceled.
    [[nodiscard]] hl::Task<Errc> wait_for_newer(hl::NodeRef node, std::uint64_t number, Microseconds span) const;

  private:
    mutable std::mutex mutex_;
    na::Addr address_;
    std::uint64_t ticket_ = 0;
    std::uint64_t number_ = 0;
    bool failed_ = false;  // the newest one
    na::Addr spare_;       // empty: there is none
    std::uint64_t spare_ticket_ = 0;
    std::stop_source replaced_;
    std::shared_ptr<Signal> changed_ = std::make_shared<Signal>();
};

}  // namespace cinnabar::group
