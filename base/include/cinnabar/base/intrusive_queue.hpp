// SPDX-License-Identifier: BSD-3-Clause
// Intrusive queues and lists: the link is a member of the element, so nothing is allocated. Not thread-safe. An element
// is in at most one container per link, must not move while linked, and must be unlinked before it is destroyed.
#pragma once

#include <cinnabar/base/assert.hpp>

#include <cstddef>

namespace cinnabar {

// A FIFO queue, singly linked through the member `Next`.
template <typename T, T* T::*Next>
class IntrusiveQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] T* front() const noexcept { return head_; }

    void push_back(T& element) noexcept {
        element.*Next = nullptr;
        if (tail_) {
            tail_->*Next = &element;
        } else {
            head_ = &element;
        }
        tail_ = &element;
    }
    void push_front(T& element) noexcept {
        element.*Next = head_;
        head_ = &element;
        if (!tail_) tail_ = &element;
    }
    [[nodiscard]] T* pop_front() noexcept {
        T* element = head_;
        if (element) {
            head_ = element->*Next;
            if (!head_) tail_ = nullptr;
            element->*Next = nullptr;
        }
        return element;
    }
    // Moves all elements of `other` to the end of this one.
    void splice_back(IntrusiveQueue& other) noexcept {
        if (other.empty()) return;
        if (tail_) {
            tail_->*Next = other.head_;
        } else {
            head_ = other.head_;
        }
        tail_ = other.tail_;
        other.head_ = other.tail_ = nullptr;
    }

  private:
    T* head_ = nullptr;
    T* tail_ = nullptr;
};

// The link of an IntrusiveList; a member of the element.
template <typename T>
struct ListLink {
    T* next = nullptr;
    T* previous = nullptr;
    bool linked = false;
};

// A doubly linked list; any element can be removed in constant time.
template <typename T, ListLink<T> T::*Link>
class IntrusiveList {
  public:
    IntrusiveList() = default;
    IntrusiveList(const IntrusiveList&) = delete;
    IntrusiveList& operator=(const IntrusiveList&) = delete;

    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] T* front() const noexcept { return head_; }
    [[nodiscard]] T* back() const noexcept { return tail_; }
    [[nodiscard]] static T* next(const T& element) noexcept { return (element.*Link).next; }
    [[nodiscard]] static bool linked(const T& element) noexcept { return (element.*Link).linked; }

    void push_back(T& element) noexcept {
        ListLink<T>& link = element.*Link;
        CINNABAR_DEBUG_ASSERT(!link.linked);
        link.next = nullptr;
        link.previous = tail_;
        link.linked = true;
        if (tail_) {
            (tail_->*Link).next = &element;
        } else {
            head_ = &element;
        }
        tail_ = &element;
    }
    void push_front(T& element) noexcept {
        ListLink<T>& link = element.*Link;
        CINNABAR_DEBUG_ASSERT(!link.linked);
        link.previous = nullptr;
        link.next = head_;
        link.linked = true;
        if (head_) {
            (head_->*Link).previous = &element;
        } else {
            tail_ = &element;
        }
        head_ = &element;
    }
    // Requires: `element` is in this list.
    void remove(T& element) noexcept {
        ListLink<T>& link = element.*Link;
        CINNABAR_DEBUG_ASSERT(link.linked);
        if (link.previous) {
            (link.previous->*Link).next = link.next;
        } else {
            head_ = link.next;
        }
        if (link.next) {
            (link.next->*Link).previous = link.previous;
        } else {
            tail_ = link.previous;
        }
        link = {};
    }
    [[nodiscard]] T* pop_front() noexcept {
        T* element = head_;
        if (element) remove(*element);
        return element;
    }
    // Moves all elements of `other` to the end of this one.
    void splice_back(IntrusiveList& other) noexcept {
        while (T* element = other.pop_front()) push_back(*element);
    }

  private:
    T* head_ = nullptr;
    T* tail_ = nullptr;
};

}  // namespace cinnabar
