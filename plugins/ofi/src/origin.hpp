// SPDX-License-Identifier: BSD-3-Clause
// This side's operations on the peer's memory, from admission to the answer. Owner of the context only.
#pragma once

#include "frame_sender.hpp"
#include "transfer.hpp"

#include <cinnabar/base/clock.hpp>

#include <sys/uio.h>

#include <array>

namespace cinnabar::ofi {

class Origin {
  public:
    // The maximum number of operations admitted at a time; further operations wait.
    static constexpr std::uint32_t admitted_max = 64;
    // The maximum number of chunks of puts that the fabric may have at a time.
    static constexpr std::uint32_t put_chunks_max = 16;
    // The maximum number of gets that have ended early and still await their owner (Transfer::awaits_owner). If there
    // are more, the session ends, because the peer does not answer.
    static constexpr std::uint32_t unanswered_max = 256;

    explicit Origin(Session& session) noexcept : session_(session) {}

    // Admits waiting operations and posts their chunks.
    [[nodiscard]] Sent post_transfers() noexcept;
    [[nodiscard]] bool has_work() const noexcept { return !to_post_.empty(); }
    void cancel(Posted& posted) noexcept { stop(*posted.transfer, Errc::canceled); }

    // Handlers of the peer's answers.
    void get_data(const Frame& frame, ConstBytes data) noexcept;
    void get_ended(const Frame& frame, const TransferBody& body) noexcept;
    void put_go(const Frame& frame, const TransferBody& body) noexcept;
    void put_done(const Frame& frame) noexcept;
    void atomic_done(const Frame& frame, const TransferBody& body) noexcept;

    void chunk_ended(Chunk& chunk, const Done& done) noexcept;
    void put_chunk_given() noexcept { --put_chunks_; }
    void get_chunk_given() noexcept { --get_chunks_; }

    // Ends the session: completes the admitted operations with `why`, each as soon as the fabric no longer uses the
    // memory of that operation.
    void end(Errc why) noexcept;
    // Ends the operations although the provider has not returned their chunks.
    void force_end() noexcept;
    // As Chunks::leave_copies().
    void leave_copies() noexcept;
    // Call when the endpoint was closed, so that the fabric no longer has any chunk.
    void abandon() noexcept;
    [[nodiscard]] bool empty() const noexcept { return transfers_.empty(); }
    [[nodiscard]] std::uint32_t unanswered() const noexcept { return unanswered_; }
    // Since when the peer has been silent about a get that has ended early and awaits its owner; of several such gets,
    // the earliest time. time_never: there is none.
    [[nodiscard]] TimeUs unanswered_since() const noexcept;

  private:
    [[nodiscard]] Sent admit_waiting() noexcept;
    [[nodiscard]] Sent post_chunks(Transfer& transfer) noexcept;
    [[nodiscard]] Sent may_post_get(Transfer& transfer) noexcept;
    [[nodiscard]] Errc post_chunk(Transfer& transfer, Chunk& chunk) noexcept;
    [[nodiscard]] std::uint64_t begin_chunk(const Transfer& transfer, Chunk& chunk) const noexcept;
    [[nodiscard]] std::size_t local_pieces(const na::Op& op, std::uint64_t at, Chunk& chunk,
                                           std::array<iovec, pieces_limit>& out) noexcept;
    void ask(Transfer& transfer) noexcept;
    [[nodiscard]] Transfer* find(std::uint64_t id) noexcept;
    [[nodiscard]] Transfer* find_wanted(std::uint64_t id) noexcept;
    void stop(Transfer& transfer, Errc why) noexcept;
    void take_back(Transfer& transfer) noexcept;
    void settle(Transfer& transfer) noexcept;
    void await_owner(Transfer& transfer) noexcept;
    void end_await(Transfer& transfer) noexcept;
    void end_op(Transfer& transfer) noexcept;
    void leave_posting(Transfer& transfer) noexcept;
    void chunk_moved(Transfer& transfer, Chunk& chunk, const Done& done) noexcept;
    void chunk_failed(Transfer& transfer, Chunk& chunk, const Done& done) noexcept;
    void place(Transfer& transfer, Chunk& chunk) noexcept;
    void discard(Chunk& chunk) noexcept;

    using Transfers = IntrusiveList<Transfer, &Transfer::link>;
    using PostQueue = IntrusiveList<Transfer, &Transfer::post_link>;

    Session& session_;
    Transfers transfers_;
    PostQueue to_post_;
    std::uint32_t admitted_ = 0;
    std::uint32_t put_chunks_ = 0;  // chunks of puts that the fabric has
    std::uint32_t get_chunks_ = 0;  // receives of gets that the fabric has
    std::uint32_t unanswered_ = 0;  // transfers that await their owner
};

}  // namespace cinnabar::ofi
