// SPDX-License-Identifier: BSD-3-Clause
// Mover: copies any range of a peer's memory to any range of local memory (pull), or in the other direction (push). A
// transfer is cut into chunks, a limited number of which (the window) is in flight. The first error stops the transfer,
// which then waits for the chunks in flight and completes once. After the completion the local memory is no longer
// accessed, unless the transfer failed and the memory is in quarantine (Region::quarantined). A quarantine begins if
// the owner of far memory was asked to move the bytes and did not confirm that it has stopped.
//
// Threads: a Mover and its transfers belong to one na::Context. Functions marked "Owner" must be called by the owner of
// that context (na/context.hpp), the others by any thread if the context is `many`.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/na/context.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cinnabar::bulk {

struct MoverOptions {
    std::uint64_t chunk_bytes = 1024 * 1024;
    std::uint32_t window = 8;                           // chunks in flight per transfer, at most transfer_window_max
    std::uint64_t inflight_bytes_max = 64u << 20;       // per context; beyond that, each peer may have one chunk
    std::uint64_t peer_inflight_bytes_max = 32u << 20;  // per peer
    std::uint32_t chunks_max = 4096;                    // in flight per context; beyond that, each peer may have one
    std::uint32_t transfers_max = 65'536;               // not yet released, per context; rounded up to a multiple of 64
    // The minimum size of a transfer of device memory that is copied directly between processes of one user on one
    // host. Smaller transfers go through staging buffers, because opening the memory of another process takes time.
    std::uint64_t ipc_bytes_min = 256 * 1024;
    // The size below which segments are copied through a staging buffer, if the transport allows few local segments per
    // operation.
    std::uint64_t staging_segment_bytes = 1024;
    // How long no chunk of a transfer may complete while chunks are in flight; after that time, or up to a quarter
    // more, the transfer ends with `timed_out`. 0: for ever. A direct copy by a device has one more second per 256 MB,
    // because it shows no progress before its end. The time is checked periodically (silence.hpp), so a process that
    // was itself held up does not end its transfers.
    Microseconds stall_max{30'000'000};
};
inline constexpr std::uint32_t transfer_window_max = 16;

enum class Direction : std::uint8_t { pull, push };

struct TransferArgs {
    Direction direction = Direction::pull;
    // Must live until the completion, with the bytes that it points into.
    const RemoteRegion* remote = nullptr;
    // A handle of device memory, used instead of `remote`; null: `remote` is used. The peer `connected`, which runs as
    // the same user, gave the handle to this process. The device copies the memory, in one piece as far as budgets
    // allow. unsupported: this side cannot open the handle, or `local` is not entirely memory of such a device. Must
    // live until the completion.
    const IpcHandle* shown = nullptr;
    std::uint64_t remote_offset = 0;
    // The blocks of the remote memory to move, in order; null: the range at remote_offset is moved. Each contiguous
    // piece takes at least one operation. Must live until the completion. A push needs blocks that do not overlap.
    const Blocks* remote_blocks = nullptr;
    Region local;             // the transfer keeps a handle; a pull needs Access::write
    std::uint64_t bytes = 0;  // from the start of `local`; at most local.bytes()
    na::Addr peer;            // the other side; ignored if the descriptor is bound to an owner
    // Allows a descriptor that is bound to an owner. The sender of such a descriptor chooses the address that this
    // process connects to. False: a transfer with such a descriptor ends with `permission`.
    bool follow_owner = false;
    // If the descriptor is bound to an owner: the owner's address, if the caller knows a better address than the
    // descriptor has, for instance of its own memory; otherwise empty.
    na::Addr owner_at;
    // The connection to use, or null. Leases are valid only on the connection on which they were granted. The transfer
    // holds a reference to `connected` until the completion.
    na::Peer* connected = nullptr;
    TimeUs deadline = time_never;  // on the clock of the context
    // Overrides MoverOptions::stall_max; 0: never.
    std::optional<Microseconds> stall_max;
    // For a push of at least one byte: the value with which the peer is notified, once, when all bytes have been
    // written (Caps::put_notify). If the transfer fails, the peer is not notified.
    std::optional<std::uint32_t> notify;
};

class Mover;
class OwnerMoves;

// A transfer, in a slot of its mover's pool; valid from Mover::start until Mover::release.
class CINNABAR_API Transfer : public PoolSlot {
  public:
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    // Valid after the completion.
    [[nodiscard]] Errc result() const noexcept { return result_; }
    // Whether the transfer timed out because nothing moved for stall_max, rather than by its deadline. Valid after the
    // completion.
    [[nodiscard]] bool stalled() const noexcept { return stalled_; }
    // The errno of a failed copy from or to far memory; otherwise 0.
    [[nodiscard]] int os_errno() const noexcept { return os_errno_; }
    // How many bytes have been moved so far; grows chunk by chunk. Any thread.
    [[nodiscard]] std::uint64_t bytes_done() const noexcept { return bytes_done_.load(std::memory_order_relaxed); }

  protected:
    Transfer() = default;
    ~Transfer() = default;
    Errc result_ = Errc::ok;
    bool stalled_ = false;
    int os_errno_ = 0;
    std::atomic<std::uint64_t> bytes_done_{0};
};

// The completion callback, which runs once per transfer, never inside start() or cancel(). `queued`: trigger() calls
// the callback, which may run any user code. `internal`: the owner calls the callback inside progress(), for the rpc
// layer's transfers; the callback must not run user code. Before the callback, the transfer drops its handle to the
// local region. The slot is reused after Mover::release.
using TransferDone = void (*)(Transfer& transfer, void* user) noexcept;
enum class Deliver : std::uint8_t { queued, internal };

// Called by the owner, inside progress(), whenever bytes_done has grown; must be short.
using TransferProgress = void (*)(Transfer& transfer, std::uint64_t bytes_done, void* user) noexcept;

// Called by the owner for each chunk that was moved from or to the memory of this peer; must be short.
using TransferCount = void (*)(na::Peer& peer, Direction direction, std::uint64_t bytes) noexcept;

// All transfers of one context.
class CINNABAR_API Mover {
  public:
    // `transports` are those of the context, in the order of its ports.
    Mover(na::Context& context, std::vector<std::shared_ptr<na::Transport>> transports, const MoverOptions& options);
    // Requires: the context is alive, every transfer was released, and progress() ran since the last cancel.
    ~Mover();
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    // Starts a transfer, or queues it behind others. Any thread. Returns null and sets `why` if the transfer was not
    // started: invalid_argument (a range is outside of its memory), permission (the descriptor or the local region does
    // not allow the transfer), overloaded (transfers_max), closed (after close). Later errors are the result of the
    // transfer: unsupported (the transport cannot notify), unreachable (also if the memory was lent on no transport
    // that reaches the peer), refused, peer_lost, timed_out (the deadline, or stall_max), permission, too_large,
    // canceled; for far memory: io, no_space, stale (the file has become shorter). The result is `ok` if and only if
    // all bytes were moved. `progress` may be null.
    [[nodiscard]] Transfer* start(const TransferArgs& args, TransferDone done, void* user, Deliver deliver,
                                  TransferProgress progress, Errc& why) noexcept;
    // Cancels the transfer, which then completes once, with `canceled` or with the result that it would have had
    // without the cancel. The completion waits for chunks that the transport cannot cancel. Any thread, before release.
    void cancel(Transfer& transfer) noexcept;
    // Like cancel(), but takes effect in the next progress(). Never takes ownership of the context, so the caller may
    // hold a lock that completions take.
    void cancel_soon(Transfer& transfer) noexcept;
    // Any thread, after the completion callback: frees the slot.
    void release(Transfer& transfer) noexcept;
    // Owner. Ends all transfers with this peer, including those with nothing in flight. Call it from Receiver::on_peer.
    void peer_lost(na::Peer& peer, Errc why) noexcept;
    // Owner. Whether transfers of this side with this peer are running.
    [[nodiscard]] bool moves_with(const na::Peer& peer) const noexcept;
    // Ends all transfers with `canceled`; start fails with `closed` from now on. Call it before na::Context::close,
    // with some progress() in between for chunks that the transport can cancel. na::Context::close then ends the
    // transfers that still have chunks in flight. Any thread.
    void close() noexcept;

    // Sets the object that asks owners to move memory that only the owner can access (owner_moves.hpp). Call it before
    // the first transfer. `moves` must outlive the Mover.
    void set_owner_moves(OwnerMoves& moves) noexcept;
    // Sets a function that counts the bytes of each peer. Call before the first transfer.
    void set_count(TransferCount count) noexcept;

    // The number of transfers that were started and not released yet.
    [[nodiscard]] std::uint32_t transfers() const noexcept;
    [[nodiscard]] std::uint64_t bytes_inflight() const noexcept;
    [[nodiscard]] const MoverOptions& options() const noexcept;

    class Impl;  // private to bulk/src

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace cinnabar::bulk
