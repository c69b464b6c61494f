// SPDX-License-Identifier: BSD-3-Clause
// The requests that are here, by the id that their origin gave them: a control message of a peer that holds thousands
// of requests may name a thousand of them. Owner of the context only.
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
    // The id that it has at its origin, from now on. Never fails: without memory for more buckets, chains get longer.
    void insert(Request& request, PeerBook& book, std::uint64_t tag) noexcept {
        request.book_ = &book;
        request.tag_ = tag;
        if (++count_ > buckets_) grow();
        link(request, bucket_of(book, tag));
    }
    // Does nothing to one that was removed before.
    void remove(Request& request) noexcept {
        if (!request.tag_place_) return;
        --count_;
        *request.tag_place_ = request.tag_next_;
        if (request.tag_next_) request.tag_next_->tag_place_ = request.tag_place_;
        request.tag_next_ = nullptr;
        request.tag_place_ = nullptr;
    }
    // One of that peer's; null: none.
    [[nodiscard]] Request* find(const PeerBook& book, std::uint64_t tag) const noexcept {
        for (Request* request = *bucket_of(book, tag); request; request = request->tag_next_) {
            if (request->tag_ == tag && request->book_ == &book) return request;
        }
        return nullptr;
    }

    // For tests.
    [[nodiscard]] std::size_t longest_chain() const noexcept {
        std::size_t longest = 0;
        for (std::size_t i = 0; i < buckets_; ++i) {
            std::size_t length = 0;
            for (const Request* request = table_[i]; request; request = request->tag_next_) ++length;
            longest = std::max(longest, length);
        }
        return longest;
    }

  private:
    // No peer can foresee it, so that none can put its requests into one chain, or into that of somebody else; ids
    // alone are alike, since every origin begins with the same ones.
    [[nodiscard]] Request** bucket_of(const PeerBook& book, std::uint64_t tag) const noexcept {
        std::uint64_t mixed = (tag ^ secret_) * 0x9e3779b97f4a7c15u;
        mixed = (mixed ^ mixed >> 32) + (reinterpret_cast<std::uintptr_t>(&book) >> 4) * salt_;
        mixed = (mixed ^ mixed >> 32) * factor_;
        mixed = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15u;
        return table_ + (mixed >> 32 & (buckets_ - 1));
    }
    static void link(Request& request, Request** bucket) noexcept {
        request.tag_next_ = *bucket;
        if (request.tag_next_) request.tag_next_->tag_place_ = &request.tag_next_;
        request.tag_place_ = bucket;
        *bucket = &request;
    }
    void grow() noexcept {
        const std::size_t more = 4 * buckets_;
        std::unique_ptr<Request*[]> made(new (std::nothrow) Request* [more] {});
        if (!made) return;
        const std::size_t before = buckets_;
        Request** const old = table_;
        table_ = made.get();
        buckets_ = more;
        for (std::size_t i = 0; i < before; ++i) {
            while (Request* request = old[i]) {
                old[i] = request->tag_next_;
                link(*request, bucket_of(*request->book_, request->tag_));
            }
        }
        grown_ = std::move(made);
    }

    static constexpr std::size_t first_buckets = 64;

    const std::uint64_t secret_ = secret_u64();
    const std::uint64_t salt_ = secret_u64() | 1;
    const std::uint64_t factor_ = secret_u64() | 1;
    std::size_t buckets_ = first_buckets;
    std::size_t count_ = 0;
    Request* first_[first_buckets]{};
    Request** table_ = first_;
    std::unique_ptr<Request*[]> grown_;
};

}  // namespace cinnabar::rpc
