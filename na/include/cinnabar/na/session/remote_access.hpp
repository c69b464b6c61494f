// SPDX-License-Identifier: BSD-3-Clause
// Put, get and atomics that the owner of the memory carries out, for a connection that carries frames
// (access_frame.hpp) in order: both sides of one session. The origin admits a bounded number of its operations and
// finds them again by the ids in answers; the owner reaches memory through leases alone, and remembers what it still
// has to send: answers, and the data of gets. The connection derives from this, sends what waits in these lists, and
// says what came.
//
// No memory is held between two calls: each looks the lease up by its key, or the operation by its id. So a revoked
// lease or a canceled operation is never touched again. Owner of the context only.
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

// An operation of this side that the owner knows of. Its id is generation << 32 | slot index.
struct AccessSlot : PoolSlot {
    PostedOp* posted = nullptr;
    RemoteAccess* access = nullptr;
    std::uint32_t generation = 1;
};

// What is to be sent to the peer: a small answer, or the data of a get.
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

// What the sessions of one port share. Every session has its share of both pools; beyond it, answers come from a rest
// that all have in common, and when that is out, a peer that asks for more loses its session: it has its share pending,
// which no peer that reads its answers has.
class CINNABAR_API AccessPools {
  public:
    // Operations of this side that one peer carries out at a time; others wait.
    static constexpr std::uint32_t admitted_max = 64;
    // Answers that a peer may always have pending: all that it can wait for while it keeps to admitted_max.
    static constexpr std::uint32_t answers_reserved = admitted_max;
    // Answers that a peer may have pending at most; and what all have beyond their shares.
    static constexpr std::uint32_t answers_max = 16 * admitted_max;
    static constexpr std::uint32_t answers_common = 64 * 1024;

    explicit AccessPools(std::uint32_t connections_max)
        : slots(Threads::one, std::min(connections_max, sessions_max) * admitted_max),
          answers_(Threads::one, std::min(connections_max, sessions_max) * answers_reserved + answers_common) {}

    // Null when a peer that has `pending` of them already may not have another, or memory is short.
    [[nodiscard]] PendingAnswer* take(std::uint32_t pending) noexcept;
    // Requires: that peer had `pending` of them, with this one.
    void give(PendingAnswer& answer, std::uint32_t pending) noexcept;

    SlotPool<AccessSlot> slots;

  private:
    // So many have their shares in full; a pool ends at 2 Mi slots.
    static constexpr std::uint32_t sessions_max = 30 * 1024;
    SlotPool<PendingAnswer> answers_;
    std::uint32_t common_taken_ = 0;
};

// Carries an atomic out on the 8 bytes that are pinned, and says what was there before. The pin's own error;
// invalid_argument: they are not aligned, or cross the border of a segment.
[[nodiscard]] CINNABAR_API Errc run_atomic(const LeaseTable::Pin& pin, OpKind kind, std::uint64_t operand,
                                           std::uint64_t compare, std::uint64_t& before) noexcept;

class CINNABAR_API RemoteAccess {
  public:
    RemoteAccess(const RemoteAccess&) = delete;
    RemoteAccess& operator=(const RemoteAccess&) = delete;

    // Ends an admitted operation as canceled.
    void cancel(PostedOp& posted) noexcept;

  protected:
    RemoteAccess() = default;
    ~RemoteAccess() = default;

    // What the connection does.
    virtual void access_to_send() noexcept = 0;                            // something waits in a list below
    virtual void access_over(PostedOp& posted, Errc result) noexcept = 0;  // completes it once the stack has unwound
    virtual void access_failed(Errc why) noexcept = 0;  // the session ends once the stack has unwound
    // The frame that is being written carries data of this operation, which has ended.
    virtual void access_abandoned(PostedOp&) noexcept {}

    // `waiting`: operations of this side, in order. Requires: nothing is admitted or pending.
    void begin_access(AccessPools& pools, LeaseTable& leases, PortHost& host, Peer& peer, PostedOps& waiting) noexcept;
    // Admitted operations end with `why`. Requires: each operation and each answer is in its list.
    void end_access(Errc why) noexcept;

    // The origin's side (access_origin.cpp).
    // Moves the next waiting operation to puts_ or requests_; false when there is none, or enough are admitted.
    [[nodiscard]] bool admit_next() noexcept;
    // Of a get or an atomic, and of what is left of a put. data_bytes is for the caller to fill in.
    [[nodiscard]] static AccessHead head_of(const PostedOp& posted) noexcept;
    [[nodiscard]] static AccessBody body_of(const PostedOp& posted) noexcept;
    // The question is in a frame, or everything that was moved of a put. Requires: it is in no list.
    void framed(PostedOp& posted) noexcept;
    // The admitted operation of that id, if it is one of this session and still wanted.
    [[nodiscard]] PostedOp* find(std::uint64_t id) noexcept;
    // Ends an admitted operation.
    void retire(PostedOp& posted, Errc result) noexcept;
    // The get that data of this id are for; null: no operation waits for them. protocol: it is not a get, or less is
    // missing.
    [[nodiscard]] Errc find_get(const AccessHead& data, PostedOp*& out) noexcept;
    // So many more bytes of a get are in place.
    void got(PostedOp& posted, std::uint64_t bytes) noexcept;

    // The owner's side (access_owner.cpp).
    // Whether that put was refused before: its data are to be discarded.
    [[nodiscard]] bool refused(std::uint64_t put_id) const noexcept { return refused_any_ && refused_id_ == put_id; }
    // The lease for data of a put. Without it they are to be discarded, and the origin has been told.
    [[nodiscard]] LeaseTable::Pin pin_for_put(std::uint64_t id, const LeaseKey& key, std::uint64_t offset,
                                              std::uint64_t bytes) noexcept;
    // All data of a put's frame are in place.
    void put_placed(const AccessHead& head, const AccessBody& body) noexcept;
    // The lease for the next `bytes` of a get. Without it, the get has become an answer that says so. Requires: it is
    // in no list.
    [[nodiscard]] LeaseTable::Pin pin_for_get(PendingAnswer& get, std::uint64_t bytes) noexcept;
    // All that was promised of it is sent: it waits for its next turn, or is done. Requires: it is in no list.
    void framed(PendingAnswer& get) noexcept;
    void release(PendingAnswer& answer) noexcept;
    [[nodiscard]] static AccessHead head_of(const PendingAnswer& answer) noexcept;

    // Whose data go next: puts and gets take turns. Requires: there is one of either.
    [[nodiscard]] bool get_has_turn() noexcept;
    // All that carries no data. protocol: an answer that the operation of that id does not have.
    [[nodiscard]] Errc frame_came(const AccessHead& head, const AccessBody& body) noexcept;

    PostedOps requests_;  // gets and atomics that are in no frame yet
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
    std::uint64_t refused_id_ = 0;  // the last put that was answered with a failure
    bool refused_any_ = false;
    bool get_turn_ = false;
};

}  // namespace cinnabar::na
