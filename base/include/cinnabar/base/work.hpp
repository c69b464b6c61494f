// SPDX-License-Identifier: BSD-3-Clause
// A piece of work that someone else runs: the node of every queue in Cinnabar. It belongs to its maker, who embeds it
// in a longer-lived object; it is in at most one queue at a time.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>

#include <atomic>

namespace cinnabar {

struct Work {
    Work* next_work = nullptr;
    // Runs once per queueing. The node may be queued again, or die, inside it.
    void (*run)(Work& self) noexcept = nullptr;
    void* user = nullptr;  // the maker's own
};

using WorkQueue = IntrusiveQueue<Work, &Work::next_work>;

// Many producers, one consumer, no lock: a stack that the consumer takes whole and turns round.
class SubmitQueue {
  public:
    // Any thread. True when the queue was empty before.
    bool push(Work& work) noexcept {
        Work* head = head_.load(std::memory_order_relaxed);
        do {
            work.next_work = head;
        } while (!head_.compare_exchange_weak(head, &work, std::memory_order_seq_cst, std::memory_order_relaxed));
        return head == nullptr;
    }
    // seq_cst: pairs with a sleeper that raised its flag before looking here.
    [[nodiscard]] bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }
    // A look that may be late by one push; never use it before sleeping.
    [[nodiscard]] bool seems_empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

    // The consumer only: everything pushed so far, oldest first.
    [[nodiscard]] WorkQueue take_all() noexcept {
        Work* newest = head_.exchange(nullptr, std::memory_order_acquire);
        WorkQueue queue;
        while (newest) {
            Work* older = newest->next_work;
            queue.push_front(*newest);
            newest = older;
        }
        return queue;
    }

  private:
    std::atomic<Work*> head_{nullptr};
};

}  // namespace cinnabar
