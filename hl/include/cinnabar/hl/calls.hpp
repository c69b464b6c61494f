// SPDX-License-Identifier: BSD-3-Clause
// BasicCalls: the functions Node::call and Caller::call (caller.hpp). There are two overloads for each number of
// arguments, so that an argument can be written in braces: node.call(sum, peer, {2, 3}, 50ms). The last parameter is a
// deadline or CallOptions.
#pragma once

#include <cinnabar/hl/calls_written.hpp>

namespace cinnabar::hl {

template <typename Kind>
class BasicCalls : public CallsWritten<Kind> {
    template <typename R, std::size_t Index>
    using Arg = detail::Arg<R, Index>;
    // For arguments that may have been written in braces, which makes them temporaries.
    template <typename R>
    using Made = typename Kind::template Made<typename R::Result, detail::fragile_arguments<typename R::Arguments>>;

  public:
    using CallsWritten<Kind>::call;

    // Encodes the arguments and returns a call that is ready to be sent; see Pending for the ways to send it. The call
    // may end with: overloaded, unreachable, closed, too_large, permission, refused, peer_lost, timed_out, canceled,
    // no_such_rpc, bad_signature, protocol, bad_checksum, shutting_down, handler_failed, application (see
    // Error::app_code and subject), or the error that the handler returned. A OneWay call ends when its message has
    // been sent.
    template <typename R>
    requires(R::arity == 0)
        [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const CallOptions& options = {}) const {
        return this->template make<Made<R>>(rpc, to, options);
    }
    template <typename R>
    requires(R::arity == 0)
        [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, Microseconds deadline) const {
        return this->template make<Made<R>>(rpc, to, {.deadline = deadline});
    }
    template <typename R>
    requires(R::arity == 1) [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const CallOptions& options = {}) const {
        return this->template make<Made<R>>(rpc, to, options, a);
    }
    template <typename R>
    requires(R::arity == 1) [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       Microseconds deadline) const {
        return this->template make<Made<R>>(rpc, to, {.deadline = deadline}, a);
    }
    template <typename R>
    requires(R::arity == 2) [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, const CallOptions& options = {}) const {
        return this->template make<Made<R>>(rpc, to, options, a, b);
    }
    template <typename R>
    requires(R::arity == 2) [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a,
                                                       const Arg<R, 1>& b, Microseconds deadline) const {
        return this->template make<Made<R>>(rpc, to, {.deadline = deadline}, a, b);
    }
    template <typename R>
    requires(R::arity == 3)
        [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a, const Arg<R, 1>& b,
                                   const Arg<R, 2>& c, const CallOptions& options = {}) const {
        return this->template make<Made<R>>(rpc, to, options, a, b, c);
    }
    template <typename R>
    requires(R::arity == 3)
        [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a, const Arg<R, 1>& b,
                                   const Arg<R, 2>& c, Microseconds deadline) const {
        return this->template make<Made<R>>(rpc, to, {.deadline = deadline}, a, b, c);
    }
    template <typename R>
    requires(R::arity == 4)
        [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a, const Arg<R, 1>& b,
                                   const Arg<R, 2>& c, const Arg<R, 3>& d, const CallOptions& options = {}) const {
        return this->template make<Made<R>>(rpc, to, options, a, b, c, d);
    }
    template <typename R>
    requires(R::arity == 4)
        [[nodiscard]] Made<R> call(const Contract<R>& rpc, const na::Addr& to, const Arg<R, 0>& a, const Arg<R, 1>& b,
                                   const Arg<R, 2>& c, const Arg<R, 3>& d, Microseconds deadline) const {
        return this->template make<Made<R>>(rpc, to, {.deadline = deadline}, a, b, c, d);
    }

  protected:
    using CallsWritten<Kind>::CallsWritten;
};

using Calls = BasicCalls<detail::NodeCalls>;

}  // namespace cinnabar::hl
