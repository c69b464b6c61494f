// SPDX-License-Identifier: BSD-3-Clause
// Executions: the collective calls that this process runs, or has run. The handler runs once per call, however often
// the call is delivered: if a member's parent in the tree dies, the grandparent calls the member again and gets the
// answer that the first delivery produced.
//
// Running calls and kept answers share `calls_max`, and the answers have `answer_bytes_max` bytes at most; one peer may
// have half of each. If there is no room for a call or an answer, the oldest answers are dropped. The calls that they
// belong to are still remembered, so that these do not run again. Any thread.
#pragma once

#include "chunk_sources.hpp"
#include "signal.hpp"
#include "wire.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/addr.hpp>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <unordered_map>

namespace cinnabar::group {

// No call runs longer than this, whatever deadline its caller sends.
inline constexpr Microseconds longest_call = std::chrono::hours(1);

struct Execution {
    CallId id;
    std::stop_source stop;
    std::shared_ptr<Signal> ended = std::make_shared<Signal>();
    TreeAnswer answer;  // set once it has ended
    // the processes from which to fetch the memory that the call moves
    const std::shared_ptr<ChunkSources> sources = std::make_shared<ChunkSources>();
    // Guarded by the mutex of Executions:
    unsigned waiting = 0;             // deliveries that are waiting for it
    Microseconds grace{0};            // how long it goes on while no delivery is waiting
    TimeUs orphaned_us = time_never;  // when the last waiting delivery ended; time_never: one is waiting
};

class Executions {
  public:
    static constexpr Microseconds answer_kept{10'000'000};
    static constexpr Microseconds orphan_grace{3'000'000};  // time for another parent to take over
    // The number of past calls that are remembered, per unit of calls_max.
    static constexpr std::size_t remembered = 16;

    Executions(std::uint32_t calls_max, std::uint64_t answer_bytes_max) noexcept
        : calls_max_(calls_max), answer_bytes_max_(answer_bytes_max) {}

    struct Found {
        std::shared_ptr<Execution> execution;  // null: there are too many calls, or `forgotten`
        bool fresh = false;                    // the caller has to run it
        bool forgotten = false;                // the call has run, but its answer was dropped
    };
    // Finds the call or begins it, and counts one more delivery that waits for it. Requires: `source` is not empty; the
    // call counts against the share of `source`. `come_back`: how long the call goes on without a waiting delivery, in
    // addition to orphan_grace.
    [[nodiscard]] Found find_or_begin(const CallId& id, const na::Addr& source, TimeUs now,
                                      Microseconds come_back = Microseconds(0));
    // Finds a call that has begun here, and counts one more delivery that waits for it. `forgotten` is set if the call
    // has not begun here, or was forgotten since.
    [[nodiscard]] Found find(const CallId& id, TimeUs now);
    void end(Execution& execution, TreeAnswer answer, TimeUs now);
    void stop_waiting(Execution& execution, TimeUs now);
    void cancel(const CallId& id);
    // Stops calls that nobody waits for, and forgets old answers.
    void sweep(TimeUs now);
    // Starts no further call, stops running ones, and drops all answers.
    void stop_all();
    // Running and remembered calls; and how many kept answers there are.
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::size_t answers() const;
    [[nodiscard]] std::uint64_t answer_bytes() const;

  private:
    struct Record {
        na::Addr source;
        std::shared_ptr<Execution> execution;  // null: the call has run, and its answer was dropped
        std::uint64_t bytes = 0;               // of the kept answer
    };
    using Records = std::map<CallId, Record>;
    struct Share {  // for one source
        std::size_t records = 0;
        std::size_t running = 0;
        std::deque<CallId> answers;  // the kept ones, oldest first
        std::uint64_t bytes = 0;     // of these
        [[nodiscard]] std::size_t kept() const noexcept { return running + answers.size(); }
    };
    // The following functions require the lock.
    [[nodiscard]] static Found found_again(const std::shared_ptr<Execution>& known);  // null: its answer was dropped
    [[nodiscard]] bool has_room(Share& share);
    [[nodiscard]] bool drop_answer(Share& share);
    [[nodiscard]] Share& largest();
    void drop_large_answers(Share& share);
    void forget(TimeUs now);
    void forget(Records::iterator at);

    mutable std::mutex mutex_;
    const std::size_t calls_max_;
    const std::uint64_t answer_bytes_max_;
    bool over_ = false;
    Records records_;
    std::set<CallId> running_;
    std::size_t answers_ = 0;
    std::uint64_t bytes_ = 0;                                // of the answers
    std::unordered_map<const na::AddrBody*, Share> shares_;  // the records keep the addresses alive
    struct Ended {
        TimeUs forgotten_us;
        CallId id;
    };
    std::deque<Ended> ended_;  // oldest first; forgotten in this order
};

}  // namespace cinnabar::group
