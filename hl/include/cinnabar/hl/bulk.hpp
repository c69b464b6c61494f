// SPDX-License-Identifier: BSD-3-Clause
// Bulk: memory that a caller lends to a call, and the transfers that move its bytes. The caller puts a `Bulk`, made
// from a region, into the arguments, and the memory is lent until the call has ended. A peer that neither stops using
// the memory nor disconnects may be able to access the memory for longer: then Region::quarantined is true, and a
// pooled buffer does not return to its pool. The handler pulls from the memory or pushes to it:
//
//     struct SaveIn { std::string name; cinnabar::Bulk data; };
//     Result<std::uint64_t> moved = co_await request->data.pull(buffer);
//     Result<Fetched<double>> values = co_await request->data.fetch<double>();  // all of it, in a buffer
//
// The memory is lent only to the called peer: transports that can tell peers apart (na::Caps::confines) refuse other
// peers, even if these have learned the descriptor. forwardable_to() names third parties that may use the memory as
// well. Whoever else has learned the descriptor of such memory is refused only where the owner checks each access
// (na::Caps::admits_guests).
//
// A handler may pass a received Bulk on to another server in a call of its own, if the first caller has made it
// forwardable(), or forwardable_to() that server. The other server then pulls directly from the first caller, and must
// set TransferOptions::follow_owner. The first caller must listen on the transport on which it lends the memory, or the
// call that passes the Bulk on ends with `unreachable`. This does not apply to memory that is small enough to be sent
// inside the call.
//
// A transfer is split into chunks, several of which are in flight at once. The transfer ends early at the first error,
// at the task's deadline, or when the task is stopped. After a transfer has ended, the local memory is no longer
// accessed, with one exception: a caller that lent a file or device memory moves the bytes itself, and may fail to stop
// when asked to. Then the transfer fails, and Region::quarantined is true for the local memory.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/smaller.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/hl/trace.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/proc_bulk.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

namespace cinnabar::hl {

class ChunkSums;
class NodeCore;

// How many times one checked transfer moves damaged chunks again, all chunks together.
inline constexpr std::uint32_t again_max_default = 16;

// Must stay trivially destructible; see CallOptions.
struct TransferOptions {
    std::uint64_t offset = 0;                   // in the remote memory
    std::optional<std::uint64_t> bytes = {};    // unset: as many as both sides have room for
    std::optional<Microseconds> deadline = {};  // from now on; unset: the deadline of the enclosing task
    // How long nothing may move while chunks are in flight; after that time, or up to a quarter more, the transfer ends
    // with timed_out. 0: for ever. Unset: rpc::Options::bulk.stall_max.
    std::optional<Microseconds> stall = {};
    // The blocks of the remote memory to move, in order (bulk::TransferArgs); null: the range at `offset` is moved. The
    // list must live until the transfer has ended.
    const bulk::Blocks* blocks = nullptr;
    // Called with the number of bytes moved so far, on the thread that drives progress. The function must be short,
    // must not block or throw, and must live until the transfer has ended.
    const std::function<void(std::uint64_t bytes_done)>* progress = nullptr;
    // Allows a transfer from or to memory that a third party owns, not the caller: this side connects to the address
    // that the descriptor names. Set this only where untrusted peers cannot call, because the caller chooses that
    // address. False: such a transfer ends with `permission`.
    bool follow_owner = false;
    std::optional<std::uint32_t> notify = {};  // push only: the peer gets this value in rpc::Notice::value
    // Receives the number of bytes moved, even if the transfer ends early; then more bytes may be in place, never
    // fewer. Must live until the transfer has ended. The error of a transfer that ended early contains the number, too.
    std::uint64_t* moved = nullptr;
    // The next three options are for checked transfers, of host, file and device memory. Each chunk is compared after
    // it has arrived, and moved again if it is damaged. The transfer ends with bad_checksum if a chunk is damaged after
    // `again_max` chunks were moved again. `progress` and `moved` count only bytes that were compared and right.
    // `progress` is called where the task runs; on a pool, several threads may call it at once. invalid_argument:
    // `blocks` or `notify` is set, or the memory is smaller than what the checksums cover.
    //
    // For a pull: the checksums that the owner of the memory has sent (chunk_sums.hpp), with which the bytes are
    // compared. The checksums also say how many bytes are moved, and must live until the transfer has ended. Local far
    // memory is read back to be compared, so its region must be read_write (permission).
    const ChunkSums* sums = nullptr;
    // For a push: whether each chunk of 1 MiB is pulled back and compared, which doubles the traffic. permission: the
    // memory was lent for writing only. Neither side may change its memory during the transfer.
    bool read_back = false;
    std::uint32_t again_max = again_max_default;
};
static_assert(std::is_trivially_destructible_v<TransferOptions>);

// A transfer, which starts when it is awaited and returns the number of bytes moved. Must not be destroyed in flight.
// invalid_argument: offset and bytes do not lie inside both memories. permission: the descriptor does not allow the
// transfer. Other errors: see bulk::Mover::start.
class CINNABAR_API TransferOp {
  public:
    // `remote` must live until the transfer has ended. Exactly one of under() and with() follows.
    TransferOp(bulk::Direction direction, const bulk::RemoteRegion& remote, bulk::Region local,
               TransferOptions options) noexcept;
    TransferOp(TransferOp&& other) noexcept;
    TransferOp& operator=(TransferOp&&) = delete;
    ~TransferOp();

    [[nodiscard]] TransferOp&& under(rpc::Request* request) && noexcept;
    [[nodiscard]] TransferOp&& with(NodeCore& node, const na::Addr& peer) && noexcept;
    // Makes the transfer end with this error instead of starting.
    [[nodiscard]] TransferOp&& failed(Error error) && noexcept;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        if (options_.sums || options_.read_back) return start_checked(handle, context_of(handle));
        job_.resumes(handle);
        return start(context_of(handle));
    }
    Result<std::uint64_t> await_resume() noexcept;

  private:
    [[nodiscard]] bool start(const TaskContext* task) noexcept;
    [[nodiscard]] bool start_checked(std::coroutine_handle<> parent, const TaskContext* task) noexcept;
    [[nodiscard]] Errc plan(const TaskContext* task, rpc::Context& context) noexcept;
    [[nodiscard]] rpc::Context* context(const TaskContext* task) noexcept;
    void resume() noexcept;
    static void on_done(bulk::Transfer& transfer, void* user) noexcept;

    bulk::TransferArgs args_;
    TransferOptions options_;
    rpc::Request* request_ = nullptr;
    NodeCore* node_ = nullptr;
    bulk::Mover* mover_ = nullptr;
    bulk::Transfer* transfer_ = nullptr;
    Executor* executor_ = nullptr;
    Job job_;
    StopScope* scope_ = nullptr;
    StopNode stop_node_;
    std::atomic<std::uint8_t> arrived_{0};
    bool in_flight_ = false;
    Errc code_ = Errc::ok;
    int os_errno_ = 0;
    std::uint64_t moved_ = 0;
    bool stalled_ = false;
    std::optional<Error> error_;
    std::optional<Task<Result<std::uint64_t>>> checked_;  // does the work, if the chunks are compared
    [[nodiscard]] Error failure() const;
    // Called only if a trace was seen in this process.
    void begin_span(const TaskContext* task, const rpc::Context& context) noexcept;
    void end_span() const noexcept;
    rpc::TraceContext trace_;  // of the transfer; empty: not recorded
    NodeCore* node_of_span_ = nullptr;
    TimeUs began_us_ = 0;
};

namespace detail {

// Takes a buffer of the node that serves the request.
[[nodiscard]] CINNABAR_API Result<Buffer> buffer_for(rpc::Request* request, std::uint64_t bytes);
// Returns a transfer from or to plain memory, registered as the region `local` for this transfer only. If `local` is an
// error, the transfer ends with that error.
[[nodiscard]] CINNABAR_API TransferOp move_plain(bulk::Direction direction, const bulk::RemoteRegion& remote,
                                                 Result<bulk::Region> local, TransferOptions options);

}  // namespace detail

class Bulk : public rpc::Bulk {
  public:
    using rpc::Bulk::Bulk;

    // In a caller that owns the memory: returns a Bulk of the same memory that the called peer may pass on to others.
    // While the memory is lent, anyone who has the descriptor can access the memory. Has no effect on a Bulk received
    // in a request.
    [[nodiscard]] Bulk forwardable() const {
        Bulk copy(*this);
        copy.set_forwardable();
        return copy;
    }

    // Like forwardable(), but only for third parties that the caller names (rpc/guests.hpp): "cert:storage", "key:ann",
    // "uid:1000", or a peer that has connected to this node. Others who get the descriptor are answered `permission`,
    // if the owner of the memory checks each access (docs/security.md, "Memory"). Null: only the called peer may use
    // the memory.
    [[nodiscard]] Bulk forwardable_to(std::shared_ptr<const rpc::Guests> guests) const {
        Bulk copy(*this);
        copy.set_guests(std::move(guests));
        return copy;
    }

    // In a handler: copies the caller's memory into `local`. The region or buffer is kept alive until the transfer has
    // ended.
    [[nodiscard]] TransferOp pull(bulk::Region local, TransferOptions options = {}) const {
        return TransferOp(bulk::Direction::pull, remote(), std::move(local), options).under(request());
    }
    // Like pull() above, but into plain memory, which must live until the transfer has ended. The memory is registered
    // for this one transfer; a region that is used more than once is faster.
    [[nodiscard]] TransferOp pull(Bytes local, TransferOptions options = {}) const {
        auto region = bulk::Region::expose(local, na::Access::write);
        return detail::move_plain(bulk::Direction::pull, remote(), std::move(region), options).under(request());
    }
    // In a handler: pulls everything, or the part that the options name, into a buffer of the node (NodeRef::buffers),
    // and returns the buffer as an array of T. invalid_argument: the bytes are not a whole number of T. Other errors:
    // those of Buffers::take and of pull.
    template <typename T>
    [[nodiscard]] Task<Result<Fetched<T>>> fetch(TransferOptions options = {}) const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                      "cinnabar: only values of trivially copyable types move in bulk");
        const std::uint64_t bytes = options.bytes.value_or(size() - smaller_of(options.offset, size()));
        if (bytes % sizeof(T) != 0)
            co_return Error(Errc::invalid_argument,
                            "the size of the memory is no multiple of the size of the type to fetch");
        if (bytes == 0) co_return Fetched<T>();
        auto buffer = detail::buffer_for(request(), bytes);
        if (!buffer) co_return std::move(buffer).error();
        auto moved = co_await pull(*buffer, options);
        if (!moved) co_return std::move(moved).error();
        if (*moved != bytes)
            co_return Error(Errc::invalid_argument, "offset and bytes reach beyond the end of the remote memory");
        co_return Fetched<T>(*std::move(buffer));
    }
    // In a handler: maps the caller's memory for reading without a copy, from `offset` on; if `bytes` is unset, to the
    // end of the memory. Works for memory that the caller allocated with NodeRef::allocate on this host. Call
    // View::valid after reading: false means that the caller has withdrawn the memory, and the bytes read may be
    // garbage. unsupported, unreachable: pull the memory instead. Other errors: rpc::Request::view.
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(std::uint64_t offset = 0,
                                                         std::optional<std::uint64_t> bytes = {}) const {
        if (!request())
            return Error(Errc::invalid_argument,
                         "this Bulk did not come with a request: take the view inside the handler that received it");
        return request()->view(remote(), offset, bytes.value_or(size() - smaller_of(offset, size())));
    }
    // In a handler: copies `local` into the caller's memory.
    [[nodiscard]] TransferOp push(bulk::Region local, TransferOptions options = {}) const {
        return TransferOp(bulk::Direction::push, remote(), std::move(local), options).under(request());
    }
    [[nodiscard]] TransferOp push(ConstBytes local, TransferOptions options = {}) const {
        auto region = bulk::Region::expose(local);
        return detail::move_plain(bulk::Direction::push, remote(), std::move(region), options).under(request());
    }
};

}  // namespace cinnabar::hl
