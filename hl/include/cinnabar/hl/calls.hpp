// SPDX-License-Identifier: BSD-3-Clause
// How a node is asked to make a call: one pair of functions for each number of arguments, so that braces work for each
// of them: node.call(sum, peer, {2, 3}, 50ms). The last parameter is a deadline or CallOptions.
#pragma once

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <tuple>

namespace cinnabar::hl {
namespace detail {

// As std::tuple_element, but no `type` beyond the end, where that one is an error. Compilers may substitute the
// arguments of an overload before they look at its requires clause; clang 14 does.
template <std::size_t Index, typename Arguments>
struct ArgumentAt {};
template <std::size_t Index, typename... A>
requires(Index < sizeof...(A)) struct ArgumentAt<Index, std::tuple<A...>>
    : std::tuple_element<Index, std::tuple<A...>> {
};

}  // namespace detail

class CINNABAR_API Calls {
    template <typename R, std::size_t Index>
    using Arg = typename detail::ArgumentAt<Index, typename R::Arguments>::type;

  public:
    // Makes a call; its arguments are encoded here and now. See Pending for the ways to send it. It fails with:
    // overloaded, unreachable, closed, too_large, permission, refused, peer_lost, timed_out, canceled, no_such_rpc,
    // bad_signature, protocol, bad_checksum, shutting_down, handler_failed, application (see Error::app_code and
    // subject), or what the handler answered. A OneWay call ends when its message was sent.
    template <typename R>
    requires(R::arity == 0) [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to,
                                                                           const CallOptions& options = {}) const {
        return make(rpc, to, options);
    }
    template <typename R>
    requires(R::arity == 0)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, Microseconds deadline) const {
        return make(rpc, to, {.deadline = deadline});
    }
    template <typename R>
    requires(R::arity == 1)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const CallOptions& options = {}) const {
        return make(rpc, to, options, a);
    }
    template <typename R>
    requires(R::arity == 1)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       Microseconds deadline) const {
        return make(rpc, to, {.deadline = deadline}, a);
    }
    template <typename R>
    requires(R::arity == 2)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, const CallOptions& options = {}) const {
        return make(rpc, to, options, a, b);
    }
    template <typename R>
    requires(R::arity == 2)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, Microseconds deadline) const {
        return make(rpc, to, {.deadline = deadline}, a, b);
    }
    template <typename R>
    requires(R::arity == 3)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, const Arg<R, 2>& c,
                                                       const CallOptions& options = {}) const {
        return make(rpc, to, options, a, b, c);
    }
    template <typename R>
    requires(R::arity == 3)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, const Arg<R, 2>& c,
                                                       Microseconds deadline) const {
        return make(rpc, to, {.deadline = deadline}, a, b, c);
    }
    template <typename R>
    requires(R::arity == 4)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, const Arg<R, 2>& c, const Arg<R, 3>& d,
                                                       const CallOptions& options = {}) const {
        return make(rpc, to, options, a, b, c, d);
    }
    template <typename R>
    requires(R::arity == 4)
        [[nodiscard]] Pending<typename R::Result> call(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, const Arg<R, 2>& c, const Arg<R, 3>& d,
                                                       Microseconds deadline) const {
        return make(rpc, to, {.deadline = deadline}, a, b, c, d);
    }

    // The same and waits for the outcome. would_deadlock on a loop or pool thread and inside tasks: nothing was sent.
    template <typename R>
    requires(R::arity == 0) [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to,
                                                                               const CallOptions& options = {}) const {
        return sync_wait(make(rpc, to, options));
    }
    template <typename R>
    requires(R::arity == 0) [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to,
                                                                               Microseconds deadline) const {
        return sync_wait(make(rpc, to, {.deadline = deadline}));
    }
    template <typename R>
    requires(R::arity == 1)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const CallOptions& options = {}) const {
        return sync_wait(make(rpc, to, options, a));
    }
    template <typename R>
    requires(R::arity == 1)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           Microseconds deadline) const {
        return sync_wait(make(rpc, to, {.deadline = deadline}, a));
    }
    template <typename R>
    requires(R::arity == 2)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const Arg<R, 1>& b, const CallOptions& options = {}) const {
        return sync_wait(make(rpc, to, options, a, b));
    }
    template <typename R>
    requires(R::arity == 2)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const Arg<R, 1>& b, Microseconds deadline) const {
        return sync_wait(make(rpc, to, {.deadline = deadline}, a, b));
    }
    template <typename R>
    requires(R::arity == 3)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const Arg<R, 1>& b, const Arg<R, 2>& c,
                                                           const CallOptions& options = {}) const {
        return sync_wait(make(rpc, to, options, a, b, c));
    }
    template <typename R>
    requires(R::arity == 3)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const Arg<R, 1>& b, const Arg<R, 2>& c,
                                                           Microseconds deadline) const {
        return sync_wait(make(rpc, to, {.deadline = deadline}, a, b, c));
    }
    template <typename R>
    requires(R::arity == 4)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const Arg<R, 1>& b, const Arg<R, 2>& c, const Arg<R, 3>& d,
                                                           const CallOptions& options = {}) const {
        return sync_wait(make(rpc, to, options, a, b, c, d));
    }
    template <typename R>
    requires(R::arity == 4)
        [[nodiscard]] Result<typename R::Result> call_sync(const R& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                           const Arg<R, 1>& b, const Arg<R, 2>& c, const Arg<R, 3>& d,
                                                           Microseconds deadline) const {
        return sync_wait(make(rpc, to, {.deadline = deadline}, a, b, c, d));
    }

  protected:
    explicit Calls(NodeCore* core) noexcept : core_(core) {}
    NodeCore* core_ = nullptr;

  private:
    template <typename R, typename... In>
    Pending<typename R::Result> make(const R& rpc, const na::Addr& to, const CallOptions& options,
                                     const In&... in) const noexcept {
        constexpr std::uint16_t shape = rpc::shape_of<typename R::Input>();
        return Pending<typename R::Result>(*core_, rpc.name(), shape, to, options, in...);
    }
};

}  // namespace cinnabar::hl
