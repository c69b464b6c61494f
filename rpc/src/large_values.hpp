// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results that do not fit a message go by bulk: the receiver pulls them from memory that the sender keeps
// leased. Owner of the context only.
#pragma once

#include "peer_book.hpp"

namespace cinnabar::rpc {

class LargeValues {
  public:
    explicit LargeValues(ContextCore& core) noexcept : core_(core) {}

    // As origin. Puts the descriptor of the large arguments where the arguments would have been.
    [[nodiscard]] Errc lend_input(Call& call) noexcept;
    // The same for encoded arguments that are in the message already, but the peer takes smaller ones than this side.
    [[nodiscard]] Errc move_input(Call& call) noexcept;
    void pull_output(Call& call, ConstBytes descriptor) noexcept;

    // As target.
    void pull_input(Request& request, ConstBytes descriptor) noexcept;
    // No reply will tell the origin of a one-way call that its arguments are not read any more.
    void release_input(Request& request) noexcept;
    void drop_input(Request& request) noexcept;
    // Puts the descriptor of a large result into the reply, and keeps the result until the origin has it.
    [[nodiscard]] Errc lend_result(Request& request) noexcept;
    void keep_result(Request& request) noexcept;
    void result_released(Request& request) noexcept;

  private:
    void output_pulled(Call& call) noexcept;
    void input_pulled(Request& request) noexcept;
    void result_lent(Request& request) noexcept;
    void result_over(Request& request) noexcept;
    // Those that do not come, or too slowly (stall.cpp).
    void watch(Request& request) noexcept;
    void watch(Call& call) noexcept;
    [[nodiscard]] bool stalls(StallWatch& watch, const bulk::Transfer& pull) noexcept;
    [[nodiscard]] TimeUs next_look() const noexcept;

    ContextCore& core_;
};

}  // namespace cinnabar::rpc
