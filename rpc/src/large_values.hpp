// SPDX-License-Identifier: BSD-3-Clause
// Large arguments and results, which do not fit in a message: the receiver pulls them from memory that the sender has
// leased to it. Owner of the context only.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

namespace cinnabar::rpc {

class Access;
class Control;
class CreditPool;
class Deadlines;
class Fences;
class Origin;
class LargeMemory;
class Replies;
class SendQueue;
class Serving;
class Target;

class LargeValues {
  public:
    // What the end of a transfer concerns: calls, requests, and what each of them holds until then.
    struct Parts {
        Origin& origin;
        Deadlines& deadlines;
        SendQueue& queue;
        Replies& replies;
        Target& target;
        Serving& serving;
        CreditPool& credits;
        Access& access;
        Control& control;
        LargeMemory& large_memory;
        Fences& fences;
    };
    LargeValues(ContextBase& base, const Parts& parts) noexcept : base_(base), parts_(parts) {}

    // As origin. Replaces the arguments in the message by the descriptor of the large arguments.
    [[nodiscard]] Errc lend_input(Call& call) noexcept;
    // As lend_input(), for arguments that are encoded in the message already but are larger than the peer accepts.
    [[nodiscard]] Errc move_input(Call& call) noexcept;
    void pull_output(Call& call, ConstBytes descriptor) noexcept;

    // As target.
    void pull_input(Request& request, ConstBytes descriptor) noexcept;
    // For a one-way call, which gets no reply: tells the origin that the arguments are no longer read.
    void release_input(Request& request) noexcept;
    void drop_input(Request& request) noexcept;
    // Writes the descriptor of a large result into the reply, and keeps the result until the origin has fetched it.
    // After an error, the reply contains the text of the error, if there is one.
    [[nodiscard]] Errc lend_result(Request& request) noexcept;
    void keep_result(Request& request) noexcept;
    void result_released(Request& request) noexcept;

  private:
    [[nodiscard]] Errc grant_to_peer(RpcLend& lend, const bulk::Region& window, const na::Port& port) noexcept;
    void output_pulled(Call& call) noexcept;
    void input_pulled(Request& request) noexcept;
    void result_lent(Request& request) noexcept;
    void result_over(Request& request) noexcept;
    // Detects pulls that stall or are too slow (large_values_stall.cpp).
    void watch(Request& request) noexcept;
    void watch(Call& call) noexcept;
    void look_at_input(Request& request) noexcept;
    void look_at_output(Call& call) noexcept;
    [[nodiscard]] bool stalls(StallWatch& watch, const bulk::Transfer& pull) noexcept;
    [[nodiscard]] TimeUs next_look() const noexcept;

    ContextBase& base_;
    const Parts parts_;
};

}  // namespace cinnabar::rpc
