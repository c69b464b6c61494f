// SPDX-License-Identifier: BSD-3-Clause
// Executions: the collective calls that this process runs, or has run. A handler runs once for each call, however often
// the call is delivered: a member whose parent in the tree died is called again by the parent's parent, which then gets
// the answer that the first delivery has produced. Any thread.
#pragma once

#include "signal.hpp"
#include "sources.hpp"
#include "wire.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/addr.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>

namespace cinnabar::group {

// No call runs longer, whatever deadline its caller names.
inline constexpr Microseconds longest_call = std::chrono::hours(1);

struct Execution {
    CallId id;
    na::Addr source;  // who pays for it
    std::stop_source stop;
    std::shared_ptr<Signal> ended = std::make_shared<Signal>();
    TreeAnswer answer;                                                     // once it has ended
    const std::shared_ptr<Sources> sources = std::make_shared<Sources>();  // of the memory that it moves
    // Under the mutex of Executions:
    unsigned waiting = 0;              // deliveries that wait for it
    TimeUs orphaned_us = time_never;   // since when nobody has waited
    TimeUs forgotten_us = time_never;  // when the answer is thrown away
};

class Executions {
  public:
    static constexpr Microseconds answer_kept{10'000'000};
    static constexpr Microseconds orphan_grace{3'000'000};  // for somebody to take over a dead parent's part

    explicit Executions(std::uint32_t calls_max) noexcept : calls_max_(calls_max) {}

    struct Found {
        std::shared_ptr<Execution> execution;  // null: there are too many
        bool fresh = false;                    // it has to be run
    };
    // Counts one more that waits.
    [[nodiscard]] Found find_or_begin(const CallId& id, const na::Addr& source, TimeUs now);
    void end(Execution& execution, TreeAnswer answer, TimeUs now);
    void stop_waiting(Execution& execution, TimeUs now);
    void cancel(const CallId& id);
    // Ends what nobody waits for, and forgets old answers.
    void sweep(TimeUs now);
    void stop_all();
    [[nodiscard]] std::size_t size() const;

  private:
    mutable std::mutex mutex_;
    std::uint32_t calls_max_;
    std::map<CallId, std::shared_ptr<Execution>> executions_;
};

}  // namespace cinnabar::group
