// SPDX-License-Identifier: BSD-3-Clause
// A notification that a peer's push brings behind its bytes (bulk::TransferArgs::notify): it gets a value here, which
// the peer is told in a call, and comes once. From another peer it does not count.
//
// Threads: one at a time, and none beside the one that triggers the context. It must live until it is over.
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
    // `result`: ok, the bytes are in place; else what close() said.
    using Function = void (*)(Errc result, void* user) noexcept;

    Notice() = default;
    // Requires: never expected, or over.
    ~Notice();
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

    // `from`: a request's source. `done` runs once, from trigger(); then it is over, and may be expected again.
    // overloaded: 65,536 are expected in this context. Requires: not expected. Not inside progress().
    [[nodiscard]] Errc expect(Context& context, const na::Addr& from, Function done, void* user) noexcept;
    // Ends it with `why`, unless it has come. Not inside progress().
    void close(Errc why) noexcept;

    // What the peer pushes with. Requires: expected.
    [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

  private:
    friend class ContextCore;
    friend class Notices;
    void finish(Errc result) noexcept;

    ContextCore* core_ = nullptr;  // while it is expected
    na::Addr from_;
    std::uint32_t value_ = 0;
    Errc result_ = Errc::ok;
    Function done_ = nullptr;
    void* user_ = nullptr;
    Work work_;
};

}  // namespace cinnabar::rpc
