// SPDX-License-Identifier: BSD-3-Clause
// Carries out the peer's operations on this side's memory. Each access is checked against the key, bounds and
// permission of a lease. Owner of the context only.
#pragma once

#include "frame_sender.hpp"
#include "transfer.hpp"

#include <cinnabar/base/clock.hpp>

namespace cinnabar::ofi {

class Owner {
  public:
    // The maximum number of large operations that a peer may have pending. An origin that keeps to admitted_max needs
    // fewer.
    static constexpr std::uint32_t requests_max = 256;
    // The maximum number of chunks of the peer's operations that the fabric may have at a time.
    static constexpr std::uint32_t served_max = 8;

    explicit Owner(Session& session) noexcept : session_(session) {}

    // Handlers of the peer's frames.
    void get(const Frame& frame, const TransferBody& body) noexcept;
    void put(const Frame& frame, const TransferBody& body, ConstBytes data) noexcept;
    void atomic(const Frame& frame, const TransferBody& body) noexcept;
    void stop(const Frame& frame, const TransferBody& body) noexcept;

    // Sends or grants one chunk of each request in turn, up to served_max and while the provider has room.
    [[nodiscard]] Sent serve() noexcept;
    [[nodiscard]] bool has_work() const noexcept { return !to_serve_.empty(); }
    void chunk_ended(Chunk& chunk, const Done& done) noexcept;
    void chunk_given() noexcept { --served_; }
    // Drops all requests. Chunks that the fabric still has become strays.
    void end() noexcept;

    [[nodiscard]] std::uint32_t requests() const noexcept { return requests_count_; }
    // Since when the peer has sent none of the chunks that were granted to it; time_never: no chunk is granted.
    [[nodiscard]] TimeUs put_waits_since() const noexcept { return granted_ > 0 ? granted_since_ : time_never; }

  private:
    [[nodiscard]] na::LeaseTable::Pin pin_lease(const na::LeaseKey& key, std::uint64_t offset, std::uint64_t bytes,
                                                na::Access access) noexcept;
    void answer(FrameKind kind, std::uint64_t id, Errc status, std::uint64_t chunks = 0) noexcept;
    [[nodiscard]] PeerRequest* add(const Frame& frame, const TransferBody& body) noexcept;
    void release(PeerRequest& request) noexcept;
    [[nodiscard]] Sent serve_get(PeerRequest& request) noexcept;
    [[nodiscard]] Errc send_leased(const PeerRequest& request, Chunk& chunk, na::LeaseTable::Pin pin) noexcept;
    [[nodiscard]] Chunk* next_chunk(const PeerRequest& request) noexcept;
    [[nodiscard]] Sent not_taken(PeerRequest& request, Chunk& chunk, Errc why) noexcept;
    [[nodiscard]] Sent grant_put(PeerRequest& request) noexcept;
    void place(PeerRequest& request, Chunk& chunk) noexcept;

    using Requests = IntrusiveList<PeerRequest, &PeerRequest::link>;
    using WorkQueue = IntrusiveList<PeerRequest, &PeerRequest::work_link>;

    Session& session_;
    Requests requests_;
    WorkQueue to_serve_;
    std::uint32_t requests_count_ = 0;
    std::uint32_t served_ = 0;   // chunks of the peer's operations
    std::uint32_t granted_ = 0;  // of those, chunks of puts, which the peer has to send
    TimeUs granted_since_ = 0;   // when the first was granted, or the last one was received
};

}  // namespace cinnabar::ofi
