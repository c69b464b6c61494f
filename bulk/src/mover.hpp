// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Mover: transfers, their chunks in flight, and a PeerBook for each peer with running transfers.
// Used only by the owner of the context, except members marked "Shared".
//
// Scheduling is round robin at two levels: peers with chunks to post take turns, and so do the transfers of one peer;
// each turn posts one chunk. A peer leaves the ring when its budget is used up or when the port has no room (it is then
// stalled). It returns at the next completion, or after a short timer if there is none. Peers that find the context's
// budget used up wait for it in order of arrival. A peer with nothing in flight may always post one chunk, so peers
// that do not respond cannot starve the others.
#pragma once

#include "far_copy.hpp"
#include "far_staging.hpp"
#include "plan.hpp"
#include "staging.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/bulk/owner_moves.hpp>
#include <cinnabar/bulk/silence.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <array>
#include <vector>

namespace cinnabar::bulk {

struct PeerBook;
struct TransferSlot;

// A chunk in flight.
struct ChunkOp : PoolSlot, na::Op {
    TransferSlot* transfer = nullptr;
    Chunk chunk;
    std::uint32_t staging_index = Staging::none;
    ListLink<ChunkOp> inflight_link;

    // For far memory (far_chunk.cpp).
    FarBuffer* buffer = nullptr;
    FarCopy copy;
    ListLink<ChunkOp> loaded_link;  // in Impl::loaded_: its bytes are in the buffer, and the port had no room
    OwnerMove by_owner;             // used instead of the op if only the owner can move the remote bytes
    IpcHandle handle;               // of its local bytes, where it goes by handle (ipc_chunk.cpp)
};

enum class Phase : std::uint8_t {
    waiting,    // submitted, not yet seen by the owner
    running,    // chunks to post or in flight
    finishing,  // ended; the completion callback is on its way
    delivered,
};

struct TransferSlot final : Transfer {
    TransferSlot() noexcept {
        work.user = this;
        cancel_work.user = this;
        timer.owner = this;
    }

    Mover::Impl* mover = nullptr;
    Work work;                    // runs on_begin, later on_deliver
    TimerOf<TransferSlot> timer;  // for the deadline and the stall check, later for on_finish
    TransferArgs args;
    TransferDone done = nullptr;
    TransferProgress progress = nullptr;
    void* user = nullptr;
    Deliver deliver = Deliver::queued;
    Phase phase = Phase::waiting;
    Errc error = Errc::ok;  // the first one
    Silence silence;
    Microseconds stall_max{0};
    bool copy_eager = false;
    bool has_planned = false;  // `planned` could not be posted yet
    bool by_owner = false;     // only the owner can move the remote bytes
    bool by_handle = false;    // one side opens memory of the other, and its device copies

    PeerBook* book = nullptr;
    na::Memory* memory = nullptr;
    ConstBytes key;
    Planner planner;
    Chunk planned;
    FarCopy eager_copy;
    std::vector<std::uint64_t> remote_ends;  // keeps its capacity between uses
    IntrusiveList<ChunkOp, &ChunkOp::inflight_link> inflight;
    std::uint32_t inflight_count = 0;
    ListLink<TransferSlot> ready_link;   // in PeerBook::ready: may post a chunk
    ListLink<TransferSlot> member_link;  // in PeerBook::members

    // Shared.
    std::atomic<bool> cancel_asked{false};
    Work cancel_work;                       // queued once per use, by the thread that set cancel_asked
    std::atomic<std::uint32_t> holders{0};  // the user, and cancel_work while it is queued

    [[nodiscard]] bool all_posted() const noexcept { return !has_planned && planner.left() == 0; }
    // Whether the next chunk is the last one, which carries the notification.
    [[nodiscard]] bool next_notifies() const noexcept { return args.notify && has_planned && planner.left() == 0; }
    [[nodiscard]] std::uint64_t moved() const noexcept { return bytes_done_.load(std::memory_order_relaxed); }
    void add_moved(std::uint64_t bytes) noexcept { bytes_done_.store(moved() + bytes, std::memory_order_relaxed); }
    void reset_moved() noexcept { bytes_done_.store(0, std::memory_order_relaxed); }
    void set_result(Errc result) noexcept { result_ = result; }
    void set_stalled(bool stalled) noexcept { stalled_ = stalled; }
    void set_os_errno(int os_errno) noexcept { os_errno_ = os_errno; }
    // What a chunk takes of the budgets of bytes: what is copied by handle is in no buffer and on no network.
    [[nodiscard]] std::uint64_t weight(const Chunk& chunk) const noexcept { return by_handle ? 0 : chunk.bytes; }
    // Whether each chunk passes through a FarBuffer, unless it goes by handle.
    [[nodiscard]] bool is_far() const noexcept { return args.local.is_far(); }
};

// The running transfers with one peer; holds a reference to the peer.
struct PeerBook : PoolSlot {
    na::Peer* peer = nullptr;
    PeerBook* next_in_bucket = nullptr;
    std::size_t port_index = 0;
    std::uint64_t bytes = 0;  // in flight
    std::uint32_t chunks = 0;
    std::uint32_t chunks_max = 0;
    std::uint32_t far_buffers = 0;  // held by its chunks
    std::uint32_t by_handle = 0;    // of its chunks
    // Which of Impl::rings_ ring_link is in, if any.
    enum class Place : std::uint8_t {
        ring,     // may post
        stalled,  // the port has no room
        full,     // the context's budget is used up
    };
    Place place = Place::ring;
    ListLink<PeerBook> ring_link;
    IntrusiveList<TransferSlot, &TransferSlot::ready_link> ready;
    IntrusiveList<TransferSlot, &TransferSlot::member_link> members;
};

class Mover::Impl {
  public:
    Impl(na::Context& context, std::vector<std::shared_ptr<na::Transport>> transports, const MoverOptions& options);
    ~Impl();

    // Starting and ending transfers (transfer.cpp).
    [[nodiscard]] Transfer* start(const TransferArgs& args, TransferDone done, void* user, Deliver deliver,
                                  TransferProgress progress, Errc& why) noexcept;
    [[nodiscard]] bool prepare_cancel(TransferSlot& slot) noexcept;
    void cancel(TransferSlot& slot) noexcept;
    void cancel_soon(TransferSlot& slot) noexcept;
    void release(TransferSlot& slot) noexcept;
    void close() noexcept;
    void fail_peer(PeerBook& book, Errc why) noexcept;
    [[nodiscard]] PeerBook* find_book(const na::Peer& peer) const noexcept;

    const MoverOptions options_;
    OwnerMoves* owner_moves_ = nullptr;

    // Shared.
    SlotPool<TransferSlot> transfers_;
    std::atomic<std::uint64_t> bytes_inflight_{0};  // written by the owner

  private:
    enum class Posted : std::uint8_t { taken, failed, peer_full, stalled, context_full };

    void begin(TransferSlot& slot) noexcept;
    // These three may throw std::bad_alloc.
    [[nodiscard]] Errc prepare(TransferSlot& slot);
    [[nodiscard]] Errc find_way(TransferSlot& slot, na::Peer*& peer, std::size_t& port_index);
    void plan(TransferSlot& slot, std::size_t port_index);
    [[nodiscard]] std::size_t index_of(const na::Port& of) const noexcept;
    // Handles the first failure of a running transfer: posts no more chunks and cancels those in flight. Recall::no:
    // they end anyway, because the context closes.
    enum class Recall : std::uint8_t { yes, no };
    void fail(TransferSlot& slot, Errc why, Recall recall = Recall::yes) noexcept;
    // Leaves the peer's book now and finishes from progress(), so that no completion runs inside start, cancel or pump.
    void finish_later(TransferSlot& slot) noexcept;
    void finish(TransferSlot& slot) noexcept;
    void drop_holder(TransferSlot& slot) noexcept;
    static void on_begin(Work& work) noexcept;
    static void on_finish(Timer& timer) noexcept;
    static void on_deliver(Work& work) noexcept;
    static void on_cancel(Work& work) noexcept;
    // Arms the timer for the deadline or the next stall check, whichever is earlier.
    void watch(TransferSlot& slot) noexcept;
    static void on_watch(Timer& timer) noexcept;
    static void on_close(Work& work) noexcept;

    // Peers (pump.cpp).
    [[nodiscard]] PeerBook* join_book(TransferSlot& slot, na::Peer& peer, std::size_t port_index) noexcept;
    void leave_book(TransferSlot& slot) noexcept;

    // Posting (pump.cpp).
    void pump() noexcept;
    [[nodiscard]] Posted post_next(PeerBook& book) noexcept;
    // Whether a chunk of this peer would exceed the context's budget.
    [[nodiscard]] bool is_full(const PeerBook& book, std::uint64_t bytes) const noexcept;
    [[nodiscard]] Posted post_chunk(TransferSlot& slot) noexcept;
    void fill(ChunkOp& op, TransferSlot& slot) noexcept;
    [[nodiscard]] Errc post(ChunkOp& op) noexcept;
    void call_off(ChunkOp& op) noexcept;
    void set_in_flight(ChunkOp& op, TransferSlot& slot) noexcept;
    void make_ready(TransferSlot& slot) noexcept;
    void unready(TransferSlot& slot) noexcept;
    void enter(PeerBook& book, PeerBook::Place place) noexcept;
    void leave(PeerBook& book) noexcept;
    void stall(PeerBook& book) noexcept;
    void chunk_done(ChunkOp& op) noexcept;
    // Removes a chunk from all accounts and frees it.
    void retire(ChunkOp& op) noexcept;
    static void on_chunk(na::Op& op) noexcept;
    static void on_retry(Timer& timer) noexcept;

    // Chunks of far memory (far_chunk.cpp).
    [[nodiscard]] Posted post_far(ChunkOp& op, TransferSlot& slot) noexcept;
    void begin_copy(ChunkOp& op) noexcept;
    static void on_copied(Work& work) noexcept;
    void post_loaded(ChunkOp& op) noexcept;
    void post_all_loaded() noexcept;
    void drop_loaded(TransferSlot& slot) noexcept;
    void give_buffer(ChunkOp& op) noexcept;
    // Copies contents that the descriptor carried into far memory.
    void begin_eager_copy(TransferSlot& slot) noexcept;
    static void on_eager_copied(Work& work) noexcept;
    [[nodiscard]] Errc post_by_owner(ChunkOp& op) noexcept;
    static void on_owner_moved(OwnerMove& move) noexcept;

    // Chunks of device memory that go by handle (ipc_chunk.cpp).
    [[nodiscard]] bool may_go_by_handle(const TransferSlot& slot, const na::Peer& peer) const noexcept;
    [[nodiscard]] Posted post_by_handle(ChunkOp& op, TransferSlot& slot) noexcept;
    static void on_shown(Work& work) noexcept;
    static void on_copied_by_device(Work& work) noexcept;
    // The owner cannot open this side's memory: begins again, with staging buffers.
    void stage_instead(TransferSlot& slot) noexcept;

    static constexpr std::size_t buckets = 256;
    static constexpr Microseconds retry_after_min{100};
    static constexpr Microseconds retry_after_max{10'000};
    using Ring = IntrusiveList<PeerBook, &PeerBook::ring_link>;

    na::Context& context_;
    const std::vector<std::shared_ptr<na::Transport>> transports_;
    std::vector<Staging> staging_;         // one per transport
    std::vector<FarStaging> far_staging_;  // one per transport
    SlotPool<ChunkOp> chunks_;
    SlotPool<PeerBook> books_;
    std::array<PeerBook*, buckets> table_{};  // by peer
    std::array<Ring, 3> rings_;               // by PeerBook::Place
    Ring& ring_ = rings_[0];
    Ring& stalled_ = rings_[1];
    Ring& full_ = rings_[2];
    TimerOf<Impl> retry_;                         // armed while a peer is stalled
    Microseconds retry_after_ = retry_after_min;  // doubles until a chunk can be posted
    IntrusiveList<ChunkOp, &ChunkOp::loaded_link> loaded_;
    TimerOf<Impl> loaded_retry_;  // armed while loaded_ is not empty
    Work close_work_;
    std::atomic<bool> closed_{false};  // shared
    FarCopies copies_;                 // last, so destroyed first: copies in progress use the others
};

}  // namespace cinnabar::bulk
