// SPDX-License-Identifier: BSD-3-Clause
// Waits for the notification that follows the data of a peer's push (bulk::TransferArgs::notify). expect() assigns a
// value, which must be sent to the peer in a call. The notification arrives once; a notification with this value from
// any other peer is ignored.
//
// Threads: only one thread at a time may use a notice, counting the thread that triggers the context. The notice must
// live until the wait is over.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>

namespace cinnabar::rpc {

class Context;
class ContextCore;

class CINNABAR_API Notice {
  public:
    // `result`: ok: the bytes are in place; closed: the context was closed; otherwise the error given to close().
    using Function = void (*)(Errc result, void* user) noexcept;

    Notice() = default;
    // Requires: expect() was never called, or the notice is over.
    ~Notice();
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

    // Starts to wait for the notification of the peer `from`, as Request::source() returns it. `done` runs once, from
    // trigger(); then the wait is over, and expect() may be called again. overloaded: 65,536 notices are expected in
    // this context, or out of memory. closed: the context closes. Requires: the notice is not waiting already. Do not
    // call inside progress().
    [[nodiscard]] Errc expect(Context& context, const na::Addr& from, Function done, void* user) noexcept;
    // Ends the wait with `why`, unless the notification has arrived. Do not call inside progress().
    void close(Errc why) noexcept;

    // The value that the peer must pass to its push. Requires: expected.
    [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

  private:
    friend class ContextCore;
    friend class Notices;
    void finish(Errc result) noexcept;

    ContextCore* core_ = nullptr;  // null: not expected
    na::Addr from_;
    std::uint32_t value_ = 0;
    Errc result_ = Errc::ok;
    Function done_ = nullptr;
    void* user_ = nullptr;
    WorkItem work_;
};

}  // namespace cinnabar::rpc
