// SPDX-License-Identifier: BSD-3-Clause
// Moves any window of a peer's memory to any window of local memory (pull) or back (push): planned into chunks, a
// window of them in flight, the first error wins and the rest drains, one completion. When it has completed, no byte of
// the local window is written or read any more.
//
// Threads: a Mover and its transfers belong to one na::Context; functions marked "owner" need its ownership
// (na/context.hpp), the others any thread of a `many` context.
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
    std::uint64_t inflight_bytes_max = 64u << 20;       // per context, shared by its transfers in turn; and one chunk
                                                        // for each peer beyond it
    std::uint64_t peer_inflight_bytes_max = 32u << 20;  // per peer
    std::uint32_t chunks_max = 4096;                    // in flight per context, and one for each peer beyond it
    std::uint32_t transfers_max = 65'536;               // not released, per context; rounded up to 64
    std::uint64_t staging_segment_bytes = 1024;         // segments below this are gathered through a staging buffer
                                                        // where the transport has few local segments per operation
    // A transfer that has chunks in flight of which none completes for so long, or up to a quarter longer, ends with
    // `timed_out`. 0: never.
    Microseconds stall_max{30'000'000};
};
inline constexpr std::uint32_t transfer_window_max = 16;

enum class Direction : std::uint8_t { pull, push };

struct TransferArgs {
    Direction direction = Direction::pull;
    // Must live, with what it borrows, until the completion.
    const RemoteRegion* remote = nullptr;
    std::uint64_t remote_offset = 0;
    Region local;             // the transfer keeps a handle; a pull needs Access::write
    std::uint64_t bytes = 0;  // from the start of `local`; at most local.bytes()
    na::Addr peer;            // whom to move from or to; ignored when the descriptor is bound to an owner
    // Whether a descriptor that is bound to an owner may lead there: whoever made the descriptor chooses whom this
    // process connects to. Otherwise such a transfer is refused with `permission`.
    bool follow_owner = false;
    // Where that owner is found, if the caller knows better than the descriptor, as of memory of its own; else empty.
    na::Addr owner_at;
    na::Peer* connected = nullptr;  // the peer itself, where it is known: no other connection to the same process will
                                    // do, since leases end with the one they were told on; referenced until completion
    TimeUs deadline = time_never;   // on the context's clock
    // Of a push of at least one byte: the value that the peer is notified with, once, when all bytes are in place
    // (Caps::put_notify). Not sent when the transfer fails.
    std::optional<std::uint32_t> notify;
};

class Mover;

// A transfer in flight, in a slot of its mover's pool. Set by Mover::start; valid until release.
class CINNABAR_API Transfer : public PoolSlot {
  public:
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;

    // After the completion.
    [[nodiscard]] Errc result() const noexcept { return result_; }
    // Bytes whose movement has completed so far; grows in steps of a chunk. Any thread.
    [[nodiscard]] std::uint64_t bytes_done() const noexcept { return bytes_done_.load(std::memory_order_relaxed); }

  protected:
    Transfer() = default;
    ~Transfer() = default;
    Errc result_ = Errc::ok;
    std::atomic<std::uint64_t> bytes_done_{0};
};

// Called once per transfer, never from inside start() or cancel(). `queued`: from trigger(), may run any user code.
// `internal`: inside progress() by the owner, for rpc's own transfers; must not call user code. The transfer has let
// its handle of the local region go by then. The slot is free for reuse after Mover::release.
using TransferDone = void (*)(Transfer& transfer, void* user) noexcept;
enum class Deliver : std::uint8_t { queued, internal };

// Called from progress() by the owner whenever bytes_done grew; must be short.
using TransferProgress = void (*)(Transfer& transfer, std::uint64_t bytes_done, void* user) noexcept;

// All transfers of one context.
class CINNABAR_API Mover {
  public:
    // `transports` are those of the context, in its order of ports.
    Mover(na::Context& context, std::vector<std::shared_ptr<na::Transport>> transports, const MoverOptions& options);
    // The context must outlive it. Requires: every transfer was released, and progress() ran since the last cancel.
    ~Mover();
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;

    // Any thread. Starts a transfer, or queues it behind others; null with `why` set when nothing was taken:
    // invalid_argument (windows that do not fit), permission (the descriptor or the local region does not allow it),
    // overloaded (transfers_max), closed (after close). Everything later (unsupported: the transport cannot notify;
    // unreachable: also when the memory was lent on
    // no transport that reaches the peer; refused, peer_lost, timed_out (the deadline, or stall_max), permission,
    // too_large, canceled) comes as the result; it is `ok` whenever all bytes were moved. `progress` may be null.
    [[nodiscard]] Transfer* start(const TransferArgs& args, TransferDone done, void* user, Deliver deliver,
                                  TransferProgress progress, Errc& why) noexcept;
    // Any thread, before release. Asks for an early end; the completion comes once, with `canceled` or as it would have
    // been. Chunks that the transport cannot recall are waited for.
    void cancel(Transfer& transfer) noexcept;
    // The same, but carried out by the next progress(): this call never owns the context, so that nothing else that
    // waits for its owner runs inside. For who holds a lock that completions want.
    void cancel_soon(Transfer& transfer) noexcept;
    // Any thread, after the completion was delivered: gives the slot back.
    void release(Transfer& transfer) noexcept;
    // Owner. Ends all transfers with that peer, also those that have nothing in flight; for Receiver::on_peer.
    void peer_lost(na::Peer& peer, Errc why) noexcept;
    // Any thread. Ends all transfers with `canceled`; start answers `closed` from now on. To be called before
    // na::Context::close, with some progress() in between for what the transport can recall; transfers that still have
    // chunks in flight are then ended by the context.
    void close() noexcept;

    // Those not released.
    [[nodiscard]] std::uint32_t transfers() const noexcept;
    [[nodiscard]] std::uint64_t bytes_inflight() const noexcept;
    [[nodiscard]] const MoverOptions& options() const noexcept;

    class Impl;  // private to bulk/src

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace cinnabar::bulk
