// SPDX-License-Identifier: BSD-3-Clause
// Executions: the collective calls that this process runs, or has run. A handler runs once for each call, however often
// the call is delivered: a member whose parent in the tree died is called again by the parent's parent, which then gets
// the answer that the first delivery has produced.
//
// Calls that run and answers that are kept are `calls_max` together, and half of them one peer's. Where a call finds no
// room, the oldest answer makes room. That the call has run is remembered all the same, so it is not run again. Any
// thread.
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

// No call runs longer, whatever deadline its caller names.
inline constexpr Microseconds longest_call = std::chrono::hours(1);

struct Execution {
    CallId id;
    std::stop_source stop;
    std::shared_ptr<Signal> ended = std::make_shared<Signal>();
    TreeAnswer answer;                                                               // once it has ended
    const std::shared_ptr<ChunkSources> sources = std::make_shared<ChunkSources>();  // of the memory that it moves
    // Under the mutex of Executions:
    unsigned waiting = 0;             // deliveries that wait for it
    TimeUs orphaned_us = time_never;  // since when nobody has waited
};

class Executions {
  public:
    static constexpr Microseconds answer_kept{10'000'000};
    static constexpr Microseconds orphan_grace{3'000'000};  // for somebody to take over a dead parent's part
    // So many calls are remembered for each that may run or have its answer kept.
    static constexpr std::size_t remembered = 16;

    explicit Executions(std::uint32_t calls_max) noexcept : calls_max_(calls_max) {}

    struct Found {
        std::shared_ptr<Execution> execution;  // null: there are too many
        bool fresh = false;                    // it has to be run
        bool forgotten = false;                // it has run, and its answer has made room
    };
    // Counts one more that waits. Requires: a source that is not empty, who pays for it.
    [[nodiscard]] Found find_or_begin(const CallId& id, const na::Addr& source, TimeUs now);
    void end(Execution& execution, TreeAnswer answer, TimeUs now);
    void stop_waiting(Execution& execution, TimeUs now);
    void cancel(const CallId& id);
    // Ends what nobody waits for, and forgets what has run.
    void sweep(TimeUs now);
    // Nothing begins any more, what runs is stopped, and nothing is kept of what has run.
    void stop_all();
    // Calls that run or are remembered, and answers among them.
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::size_t answers() const;

  private:
    struct Record {
        na::Addr source;
        std::shared_ptr<Execution> execution;  // null: it has run, and its answer is gone
    };
    using Records = std::map<CallId, Record>;
    struct Share {  // of one source
        std::size_t records = 0;
        std::size_t running = 0;
        std::deque<CallId> answers;  // that are kept, the oldest first
        [[nodiscard]] std::size_t kept() const noexcept { return running + answers.size(); }
    };
    // These require the lock.
    [[nodiscard]] bool has_room(Share& share);
    [[nodiscard]] bool drop_answer(Share& share);
    [[nodiscard]] Share& largest();
    void forget(TimeUs now);
    void forget(Records::iterator at);

    mutable std::mutex mutex_;
    const std::size_t calls_max_;
    bool over_ = false;
    Records records_;
    std::set<CallId> running_;
    std::size_t answers_ = 0;
    std::unordered_map<const na::AddrBody*, Share> shares_;  // their records hold the addresses
    struct Ended {
        TimeUs forgotten_us;
        CallId id;
    };
    std::deque<Ended> ended_;  // in the order in which they are forgotten
};

}  // namespace cinnabar::group
