// SPDX-License-Identifier: BSD-3-Clause
// Memory in the arguments of a call, and the transfers that move it. A member `Bulk` of an argument is made from a
// region by the caller, who lends it for the time of the call; the handler pulls from it or pushes to it:
//
//     struct SaveIn { std::string name; cinnabar::Bulk data; };
//     Result<std::uint64_t> moved = co_await request->data.pull(buffer);
//     Result<Fetched<double>> values = co_await request->data.fetch<double>();  // all of it, in a buffer
//
// A handler that puts a Bulk which it was given into a call of its own hands the caller's memory on: whoever is called
// pulls from the caller itself, with TransferOptions::follow_owner. For that the caller must listen on the transport
// that it lends on, or the bytes be few enough to come along; otherwise the call ends with `unreachable`.
//
// Transfers run in windows of chunks and end with the first error, at the task's deadline, or when it is stopped. When
// one has ended, no byte of the local memory is touched any more.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/proc_bulk.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

namespace cinnabar::hl {

class NodeCore;

// Stays without a destructor, as CallOptions.
struct TransferOptions {
    std::uint64_t offset = 0;                   // where in the remote memory the window starts
    std::optional<std::uint64_t> bytes = {};    // unset: what both sides have room for
    std::optional<Microseconds> deadline = {};  // unset: that of the task around it
    // Told how many bytes have moved so far, from inside progress: it must be short, and must not block or throw. Lives
    // until the transfer has ended.
    const std::function<void(std::uint64_t bytes_done)>* progress = nullptr;
    // Connects to whoever owns the memory, if it is not the caller's own: only where strangers cannot call, since a
    // stranger would choose the address. Otherwise such a transfer ends with `permission`.
    bool follow_owner = false;
    std::optional<std::uint32_t> notify = {};  // of a push, as there; what rpc::Notice::value was at the peer
};
static_assert(std::is_trivially_destructible_v<TransferOptions>);

// A transfer that starts when it is awaited; gives the number of bytes moved. Must not be destroyed in flight.
// invalid_argument: the window does not lie in both memories. permission: the descriptor does not allow it. Otherwise
// as bulk::Mover::start.
class CINNABAR_API TransferOp {
  public:
    // `remote` must live until the end. `request` may be null: then `node` moves it, from or to `peer`.
    TransferOp(bulk::Direction direction, const bulk::RemoteRegion& remote, bulk::Region local,
               TransferOptions options) noexcept;
    TransferOp(TransferOp&& other) noexcept;
    TransferOp& operator=(TransferOp&&) = delete;
    ~TransferOp();

    [[nodiscard]] TransferOp&& under(rpc::Request* request) && noexcept;
    [[nodiscard]] TransferOp&& with(NodeCore& node, const na::Addr& peer) && noexcept;
    // It will end with this error instead.
    [[nodiscard]] TransferOp&& failed(Error error) && noexcept;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        job_.resumes(handle);
        return start(context_of(handle));
    }
    Result<std::uint64_t> await_resume() noexcept;

  private:
    [[nodiscard]] bool start(const TaskContext* task) noexcept;
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
    std::optional<Error> error_;
};

namespace detail {

// Of the node that serves the request.
[[nodiscard]] CINNABAR_API Result<Buffer> buffer_for(rpc::Request* request, std::uint64_t bytes);
// Plain memory as a region for one transfer.
[[nodiscard]] CINNABAR_API TransferOp move_plain(bulk::Direction direction, const bulk::RemoteRegion& remote,
                                                 Result<bulk::Region> local, TransferOptions options);

}  // namespace detail

class Bulk : public rpc::Bulk {
  public:
    using rpc::Bulk::Bulk;

    // In a handler: from the caller's memory into `local`; the region or buffer is held until the end.
    [[nodiscard]] TransferOp pull(bulk::Region local, TransferOptions options = {}) const {
        return TransferOp(bulk::Direction::pull, remote(), std::move(local), options).under(request());
    }
    // Into plain memory, which must stay until the end. It is registered for this once: a region is faster.
    [[nodiscard]] TransferOp pull(Bytes local, TransferOptions options = {}) const {
        auto region = bulk::Region::expose(local, na::Access::write);
        return detail::move_plain(bulk::Direction::pull, remote(), std::move(region), options).under(request());
    }
    // In a handler: all of it, or the window of the options, as values of T in a buffer of the node's
    // (NodeRef::buffers). invalid_argument: no whole number of them. Others: Buffers::take, and as pull.
    template <typename T>
    [[nodiscard]] Task<Result<Fetched<T>>> fetch(TransferOptions options = {}) const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                      "cinnabar: only values of trivially copyable types move in bulk");
        const std::uint64_t bytes = options.bytes.value_or(size() - std::min(options.offset, size()));
        if (bytes % sizeof(T) != 0) co_return Error(Errc::invalid_argument, "that is no whole number of such values");
        if (bytes == 0) co_return Fetched<T>();
        auto buffer = detail::buffer_for(request(), bytes);
        if (!buffer) co_return std::move(buffer).error();
        auto moved = co_await pull(*buffer, options);
        if (!moved) co_return std::move(moved).error();
        if (*moved != bytes) co_return Error(Errc::invalid_argument, "the window does not lie in the memory");
        co_return Fetched<T>(*std::move(buffer));
    }
    // In a handler: the caller's memory in place, for reading, from `offset` on; unset: to its end. For memory that the
    // caller's node allocated (NodeRef::allocate) and that lies on this host. Ask View::valid after reading: the caller
    // may have given up meanwhile. unsupported, unreachable: pull it instead. Others: rpc::Request::view.
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(std::uint64_t offset = 0,
                                                         std::optional<std::uint64_t> bytes = {}) const {
        if (!request()) return Error(Errc::invalid_argument, "a view is taken in the handler that the memory came to");
        return request()->view(remote(), offset, bytes.value_or(size() - std::min(offset, size())));
    }
    // In a handler: from `local` into the caller's memory.
    [[nodiscard]] TransferOp push(bulk::Region local, TransferOptions options = {}) const {
        return TransferOp(bulk::Direction::push, remote(), std::move(local), options).under(request());
    }
    [[nodiscard]] TransferOp push(ConstBytes local, TransferOptions options = {}) const {
        auto region = bulk::Region::expose(local);
        return detail::move_plain(bulk::Direction::push, remote(), std::move(region), options).under(request());
    }
};

}  // namespace cinnabar::hl
