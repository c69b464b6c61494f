// SPDX-License-Identifier: BSD-3-Clause
// WorkItem: a function for another thread or a later round to run; the element of all work queues in Cinnabar. The
// creator of a WorkItem embeds it in a longer-lived object. A WorkItem is in at most one queue at a time.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>

#include <atomic>

namespace cinnabar {

struct WorkItem {
    WorkItem* next_work = nullptr;
    // Runs once each time the work is queued. It may queue the work again or destroy it.
    void (*run)(WorkItem& self) noexcept = nullptr;
    void* user = nullptr;  // free for the creator
};

using WorkQueue = IntrusiveQueue<WorkItem, &WorkItem::next_work>;

// A lock-free queue for many producers and one consumer: a stack that the consumer takes as a whole and reverses.
class SubmitQueue {
  public:
    // Any thread. True if the queue was empty before.
    bool push(WorkItem& work) noexcept {
        WorkItem* head = head_.load(std::memory_order_relaxed);
        do {
            work.next_work = head;
        } while (!head_.compare_exchange_weak(head, &work, std::memory_order_seq_cst, std::memory_order_relaxed));
        return head == nullptr;
    }
    // Reads with seq_cst, for a thread that goes to sleep: the thread sets its flag, and then calls empty().
    [[nodiscard]] bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }
    // May miss a concurrent push; never use it to decide whether to sleep.
    [[nodiscard]] bool seems_empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

    // Consumer only: takes everything pushed so far, oldest first.
    [[nodiscard]] WorkQueue take_all() noexcept {
        WorkItem* newest = head_.exchange(nullptr, std::memory_order_acquire);
        WorkQueue queue;
        while (newest) {
            WorkItem* older = newest->next_work;
            queue.push_front(*newest);
            newest = older;
        }
        return queue;
    }

  private:
    std::atomic<WorkItem*> head_{nullptr};
};

}  // namespace cinnabar
