// SPDX-License-Identifier: BSD-3-Clause
// Finds the requests that this side holds, by the id that their origin gave them. A peer that holds thousands of
// requests may name a thousand of them in one control message. Most requests end before their peer names any request,
// and are never inserted into the table: see Target::find. Owner of the context only.
#pragma once

#include <cinnabar/base/random.hpp>
#include <cinnabar/rpc/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace cinnabar::rpc {

class RequestTable {
  public:
    // Inserts the request under its id at the origin. Never fails: without memory for more buckets, chains get longer.
    void insert(Request& request, PeerBook& book, std::uint64_t tag) noexcept {
        request.book_ = &book;
        request.tag_ = tag;
        if (++count_ > grow_above_) grow();
        link(request, bucket_of(book, tag));
    }
    [[nodiscard]] static bool has(const Request& request) noexcept { return request.tag_link_ != nullptr; }
    // Does nothing if the request is not in the table.
    void remove(Request& request) noexcept {
        if (!request.tag_link_) return;
        --count_;
        *request.tag_link_ = request.tag_next_;
        if (request.tag_next_) request.tag_next_->tag_link_ = request.tag_link_;
        request.tag_next_ = nullptr;
        request.tag_link_ = nullptr;
    }
    // The request of that peer; null: none.
    [[nodiscard]] Request* find(const PeerBook& book, std::uint64_t tag) const noexcept {
        for (Request* request = *bucket_of(book, tag); request; request = request->tag_next_) {
            if (request->tag_ == tag && request->book_ == &book) return request;
        }
        return nullptr;
    }

    // For tests.
    [[nodiscard]] std::size_t longest_chain() const noexcept {
        std::size_t longest = 0;
        for (std::size_t i = 0; i < buckets(); ++i) {
            std::size_t length = 0;
            for (const Request* request = table_[i]; request; request = request->tag_next_) ++length;
            longest = std::max(longest, length);
        }
        return longest;
    }

  private:
    // Peers cannot predict the bucket, so no peer can put all its requests into one chain, or into the chain of another
    // peer. The book is hashed as well, because every origin begins with the same ids.
    [[nodiscard]] Request** bucket_of(const PeerBook& book, std::uint64_t tag) const noexcept {
        const std::uint64_t mixed = tag * factor_ + reinterpret_cast<std::uintptr_t>(&book) * salt_;
        return table_ + ((mixed ^ mixed >> 32) * factor_ >> shift_);
    }
    static void link(Request& request, Request** bucket) noexcept {
        request.tag_next_ = *bucket;
        if (request.tag_next_) request.tag_next_->tag_link_ = &request.tag_next_;
        request.tag_link_ = bucket;
        *bucket = &request;
    }
    [[nodiscard]] std::size_t buckets() const noexcept { return std::size_t{1} << (64 - shift_); }
    [[gnu::cold, gnu::noinline]] void grow() noexcept {
        const std::size_t before = buckets();
        std::unique_ptr<Request*[]> made(new (std::nothrow) Request* [4 * before] {});
        if (!made) return;
        Request** const old = table_;
        table_ = made.get();
        shift_ -= 2;
        grow_above_ = 4 * before;
        for (std::size_t i = 0; i < before; ++i) {
            while (Request* request = old[i]) {
                old[i] = request->tag_next_;
                link(*request, bucket_of(*request->book_, request->tag_));
            }
        }
        grown_ = std::move(made);
    }

    static constexpr unsigned first_bits = 6;

    const std::uint64_t factor_ = secret_u64() | 1;
    const std::uint64_t salt_ = secret_u64() | 1;
    unsigned shift_ = 64 - first_bits;
    std::size_t count_ = 0;
    std::size_t grow_above_ = std::size_t{1} << first_bits;  // the number of buckets
    Request* first_[std::size_t{1} << first_bits]{};
    Request** table_ = first_;
    std::unique_ptr<Request*[]> grown_;
};

}  // namespace cinnabar::rpc
