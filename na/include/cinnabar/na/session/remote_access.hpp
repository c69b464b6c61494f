// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and atomics that the owner of the memory carries out, over a connection that transfers frames
// (access_frame.hpp) in order. RemoteAccess implements both sides of a session. The origin side admits a bounded number
// of its operations and finds them by the ids in answers. The owner side accesses memory through leases only, and keeps
// what it still has to send: answers and the data of gets. A connection derives from this class, sends what is in its
// lists, and passes received frames to it.
//
// No pointer to memory is kept between two calls: each call looks the lease up by its key, or the operation by its id.
// So a revoked lease or a canceled operation is never touched again. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/access_frame.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>

namespace cinnabar::na {

class RemoteAccess;

// An operation of this side that the peer (the owner of the memory) knows of. Its id is generation << 32 | slot index.
struct AccessSlot : PoolSlot {
    PostedOp* posted = nullptr;
    RemoteAccess* access = nullptr;
    std::uint32_t generation = 1;
};

// What this side has to send to the peer: a small answer, or the data of a get.
struct PendingAnswer : PoolSlot {
    ListLink<PendingAnswer> link;
    AccessKind kind = AccessKind::get_data;
    Errc status = Errc::ok;
    std::uint64_t id = 0;
    std::uint64_t value = 0;  // atomic_done
    LeaseKey key;             // get_data
    std::uint64_t offset = 0;
    std::uint64_t left = 0;
};
using PendingAnswers = IntrusiveList<PendingAnswer, &PendingAnswer::link>;

// The slots that the sessions of one port share. Each session has a reserved share of both pools; answers beyond that
// share come from a common reserve. If a peer needs another answer when its whole share is pending and the reserve is
// used up, the peer loses its session. This cannot happen to a peer that reads its answers.
class CINNABAR_API AccessPools {
  public:
    // The number of operations of this side that one peer carries out at a time; further operations wait.
    static constexpr std::uint32_t admitted_max = 64;
    // The number of answers reserved for each peer. A peer that respects admitted_max never has more of them pending.
    static constexpr std::uint32_t answers_reserved = admitted_max;
    // The maximum number of answers that one peer may have pending, and the size of the common reserve.
    static constexpr std::uint32_t answers_max = 16 * admitted_max;
    static constexpr std::uint32_t answers_common = 64 * 1024;

    explicit AccessPools(std::uint32_t connections_max)
        : slots(ThreadUse::one, std::min(connections_max, sessions_max) * admitted_max),
          answers_(ThreadUse::one, std::min(connections_max, sessions_max) * answers_reserved + answers_common) {}

    // Takes a slot for a peer that has `pending` answers already; null: the peer may not have another slot, or out of
    // memory.
    [[nodiscard]] PendingAnswer* take(std::uint32_t pending) noexcept;
    // Requires: the peer has `pending` answers, including this one.
    void give(PendingAnswer& answer, std::uint32_t pending) noexcept;

    SlotPool<AccessSlot> slots;

  private:
    // The number of sessions whose share is reserved in full; a pool is limited to 2 Mi slots.
    static constexpr std::uint32_t sessions_max = 30 * 1024;
    SlotPool<PendingAnswer> answers_;
    std::uint32_t common_taken_ = 0;
};

// Carries out an atomic operation on the 8 bytes that are pinned; `before` receives the previous value. Returns the
// error of the pin; invalid_argument: the bytes are not aligned, or cross the border of two segments.
[[nodiscard]] CINNABAR_API Errc run_atomic(const LeaseTable::Pin& pin, OpKind kind, std::uint64_t operand,
                                           std::uint64_t compare, std::uint64_t& before) noexcept;

class CINNABAR_API RemoteAccess {
  public:
    RemoteAccess(const RemoteAccess&) = delete;
    RemoteAccess& operator=(const RemoteAccess&) = delete;

    // Completes an admitted operation with `canceled`.
    void cancel(PostedOp& posted) noexcept;

  protected:
    RemoteAccess() = default;
    ~RemoteAccess() = default;

    // Implemented by the connection.
    virtual void access_to_send() noexcept = 0;                            // one of the lists below is not empty
    virtual void access_over(PostedOp& posted, Errc result) noexcept = 0;  // complete it through SessionPort::end
    virtual void access_failed(Errc why) noexcept = 0;                     // end the session, deferred
    // Called when an operation ends while a frame with its data is being written.
    virtual void access_abandoned(PostedOp&) noexcept {}

    // `waiting`: the operations of this side, in order. Requires: nothing is admitted or pending.
    void begin_access(AccessPools& pools, LeaseTable& leases, PortHost& host, Peer& peer, PostedOps& waiting) noexcept;
    // Ends all admitted operations with `why`. Requires: each operation and each answer is in its list.
    void end_access(Errc why) noexcept;

    // The origin's side (access_origin.cpp). Moves the next waiting operation to puts_ or requests_; false: no
    // operation is waiting, admitted_max are admitted, or no slot is free.
    [[nodiscard]] bool admit_next() noexcept;
    // Makes the header and the body for a get or an atomic, or for the rest of a put. The caller fills in data_bytes.
    [[nodiscard]] static AccessHead head_of(const PostedOp& posted) noexcept;
    [[nodiscard]] static AccessBody body_of(const PostedOp& posted) noexcept;
    // Call when a frame contains the request, or when frames contain all data of the put up to `moved`. Requires: the
    // operation is in no list.
    void framed(PostedOp& posted) noexcept;
    // The admitted operation of this session with that id; null: none, or it was canceled.
    [[nodiscard]] PostedOp* find(std::uint64_t id) noexcept;
    // Removes an admitted operation from the lists and completes it.
    void retire(PostedOp& posted, Errc result) noexcept;
    // Finds the get that received data belong to; null: no get waits for them. protocol: the id belongs to another kind
    // of operation, or there are more data than the get still lacks, or no data although the get lacks some.
    [[nodiscard]] Errc find_get(const AccessHead& data, PostedOp*& out) noexcept;
    // `bytes` more of a get have been received.
    void got(PostedOp& posted, std::uint64_t bytes) noexcept;

    // The owner's side (access_owner.cpp). Whether an earlier frame of that put was refused; if so, discard the data of
    // the present frame.
    [[nodiscard]] bool refused(std::uint64_t put_id) const noexcept { return refused_any_ && refused_id_ == put_id; }
    // Pins the lease for the data of a put. If the pin fails, discard the data: the origin gets an answer that says
    // why.
    [[nodiscard]] LeaseTable::Pin pin_for_put(std::uint64_t id, const LeaseKey& key, std::uint64_t offset,
                                              std::uint64_t bytes) noexcept;
    // Call when all data of a put's frame are in place.
    void put_placed(const AccessHead& head, const AccessBody& body) noexcept;
    // Pins the lease for the next `bytes` of a get. If the pin fails, the get is replaced by an answer that says why.
    // Requires: the get is in no list.
    [[nodiscard]] LeaseTable::Pin pin_for_get(PendingAnswer& get, std::uint64_t bytes) noexcept;
    // Call when the data announced by the frame have been sent: the get then waits for its next turn, or is done.
    // Requires: the get is in no list.
    void framed(PendingAnswer& get) noexcept;
    void release(PendingAnswer& answer) noexcept;
    [[nodiscard]] static AccessHead head_of(const PendingAnswer& answer) noexcept;

    // Whether the next data to send are those of a get, since puts and gets take turns. Requires: puts_ or gets_ is not
    // empty.
    [[nodiscard]] bool get_has_turn() noexcept;
    // Handles a received frame without data. protocol: an answer that does not fit the operation with that id.
    [[nodiscard]] Errc frame_came(const AccessHead& head, const AccessBody& body) noexcept;

    // For transports that send and receive each frame as a whole. write_answers() passes each waiting answer, and
    // write_requests() each waiting request, to write(AccessHead, AccessBody), until write() returns false for lack of
    // room. True: none is left.
    template <typename Write>
    [[nodiscard]] bool write_answers(Write&& write) noexcept {
        while (PendingAnswer* const answer = answers_.front()) {
            AccessBody body;
            body.value = answer->value;
            if (!write(head_of(*answer), body)) return false;
            answers_.remove(*answer);
            release(*answer);
        }
        return true;
    }
    template <typename Write>
    [[nodiscard]] bool write_requests(Write&& write) noexcept {
        while (PostedOp* const posted = requests_.front()) {
            if (!write(head_of(*posted), body_of(*posted))) return false;
            requests_.remove(*posted);
            framed(*posted);
        }
        return true;
    }
    // Handles a received frame: `rest` is its body, then all its data; the data_bytes of the head are ignored. The peer
    // may change these bytes meanwhile. protocol: malformed, or as frame_came() and find_get(). Requires: is_access.
    [[nodiscard]] Errc whole_frame_came(AccessHead head, ConstBytes rest) noexcept;

    PostedOps requests_;  // gets and atomics whose request is in no frame yet
    PostedOps puts_;
    PendingAnswers answers_;
    PendingAnswers gets_;

  private:
    [[nodiscard]] Errc answered(const AccessHead& head, const AccessBody& body) noexcept;
    [[nodiscard]] PendingAnswer* take_answer(AccessKind kind, std::uint64_t id, Errc status) noexcept;
    PendingAnswer* answer(AccessKind kind, std::uint64_t id, Errc status) noexcept;
    void get_asked(std::uint64_t id, const AccessBody& body) noexcept;
    void stop_asked(std::uint64_t id) noexcept;
    void atomic_asked(const AccessHead& head, const AccessBody& body) noexcept;

    AccessPools* pools_ = nullptr;
    LeaseTable* leases_ = nullptr;
    PortHost* host_ = nullptr;
    Peer* peer_ = nullptr;
    PostedOps* waiting_ = nullptr;
    PostedOps awaiting_;
    std::uint32_t admitted_ = 0;
    std::uint32_t pending_ = 0;
    std::uint64_t refused_id_ = 0;  // the last put that was answered with an error
    bool refused_any_ = false;
    bool get_turn_ = false;
};

}  // namespace cinnabar::na
