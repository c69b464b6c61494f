// SPDX-License-Identifier: BSD-3-Clause
// Holding: the memory that a call moves, at one process. The caller's memory has all bytes from the start, a member's
// memory has the bytes received so far. Accesses on behalf of members below are counted, so that the memory can be
// taken back. Any thread.
#pragma once

#include "signal.hpp"

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/executor.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace cinnabar::group {

struct Offer;

class Holding {
  public:
    Holding(hl::NodeRef node, std::uint64_t bytes, std::uint32_t chunk_bytes) noexcept
        : node_(node), bytes_(bytes), chunk_bytes_(chunk_bytes) {}

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint64_t chunks() const noexcept { return (bytes_ + chunk_bytes_ - 1) / chunk_bytes_; }

    // --- which bytes have arrived
    void hold_all(bulk::Region region);
    void begin(bulk::Region region);  // none of its bytes have arrived yet
    void set_in_place(std::uint64_t chunk);
    [[nodiscard]] bool complete() const;
    // Whether all bytes are there, in memory that others can be allowed to read.
    [[nodiscard]] bool can_lend() const;
    // ok: the bytes have arrived. not_found: the memory was taken back. timed_out, canceled: of the task.
    [[nodiscard]] hl::Task<Errc> wait_for_bytes(std::uint64_t offset, std::uint64_t bytes);

    // --- accesses on behalf of others
    class Access {
      public:
        Access(Holding& holding, bulk::Region region, std::stop_token stop) noexcept
            : holding_(&holding), region_(std::move(region)), stop_(std::move(stop)) {}
        Access(Access&& other) noexcept
            : holding_(std::exchange(other.holding_, nullptr)),
              region_(std::move(other.region_)),
              stop_(std::move(other.stop_)) {}
        Access& operator=(Access&&) = delete;
        ~Access() {
            region_ = {};
            if (holding_) holding_->end_access();
        }
        [[nodiscard]] const bulk::Region& region() const noexcept { return region_; }
        // Stopped when the memory is taken back.
        [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

      private:
        Holding* holding_;
        bulk::Region region_;
        std::stop_token stop_;
    };
    // Empty if the memory was taken back. The Holding must outlive the Access. Requires: the range lies inside.
    [[nodiscard]] std::optional<Access> access(std::uint64_t offset, std::uint64_t bytes);
    // Allows no further access, and stops the accesses in progress. Members that still lack bytes do not get them.
    void take_back();
    [[nodiscard]] bool taken_back() const;

    // Awaits the end of the last access, ignoring the deadline and the stop token of the task. One task at a time.
    struct Untouched {
        Holding& holding;
        hl::Job job = {};
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <std::derived_from<hl::PromiseBase> Promise>
        bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
            job.resumes(handle);
            hl::Executor* const executor = hl::executor_of(hl::context_of(handle));
            return !holding.join(executor ? *executor : holding.node_.executor(), job);
        }
        void await_resume() const noexcept {}
    };
    [[nodiscard]] Untouched untouched() noexcept { return {*this}; }

    // --- the members to which it is offered
    void add_offer(const std::shared_ptr<Offer>& offer);
    void end_offer(Offer& offer);  // the member has all bytes, or wants no more
    void note_progress();
    // Returns when no offer is left, or when no offer has made progress for half of the task's remaining time.
    [[nodiscard]] hl::Task<void> wait_for_takers();

  private:
    void end_access() noexcept;
    [[nodiscard]] bool join(hl::Executor& executor, hl::Job& joiner) noexcept;
    [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t bytes) const;  // with the mutex held
    [[nodiscard]] std::shared_ptr<Signal> renew_changed();                    // with the mutex held

    hl::NodeRef node_;
    const std::uint64_t bytes_;
    const std::uint32_t chunk_bytes_;
    mutable std::mutex mutex_;
    bulk::Region region_;
    bool all_ = false;
    std::vector<bool> in_place_;  // one bit per chunk; empty before begin()
    std::uint64_t missing_ = 0;   // in chunks
    bool taken_back_ = false;
    std::uint64_t progress_ = 0;
    std::uint32_t accesses_ = 0;
    std::stop_source stop_;
    std::vector<std::shared_ptr<Offer>> offers_;  // not ended
    std::shared_ptr<Signal> changed_ = std::make_shared<Signal>();
    hl::Executor* join_executor_ = nullptr;
    hl::Job* joiner_ = nullptr;
};

}  // namespace cinnabar::group
