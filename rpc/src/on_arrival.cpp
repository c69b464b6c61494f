// SPDX-License-Identifier: BSD-3-Clause
// Runs handlers where their request was read (Handler::on_arrival). All these handlers use one Request object, which is
// kept at hand. This object is in no list and no table, because it cannot be canceled or lose its connection while its
// handler runs. If the handler keeps the request, or the reply cannot be sent at once, the request becomes an ordinary
// one.
#include "context_core.hpp"

#include <cstring>
#include <utility>

namespace cinnabar::rpc {

void Target::run_on_arrival(Request& request, ConstBytes payload) noexcept {
    at_hand_ = &request;
    request.input_ = payload;
    request.arriving_ = true;
    request.handler_->run(request, request.handler_->target.get());
    if (!request.arriving_) return;
    if (!request.use_.users_gone || !request.answered_.load(std::memory_order_relaxed) ||
        !core_.serving.reply_at_once(request)) {
        return keep_beyond_arrival(request);
    }
    request.book_->account.request_over();
    request.arriving_ = request.use_.users_gone = false;
    request.answered_.store(false, std::memory_order_relaxed);
    request.user_data = nullptr;
}

// Turns a request whose handler runs on arrival into an ordinary request.
void Target::keep_beyond_arrival(Request& request) noexcept {
    at_hand_ = nullptr;
    request.arriving_ = false;
    const std::size_t bytes = request.input_.size();
    std::memcpy(request.small_input_.data(), request.input_.data(), bytes);
    request.input_ = {request.small_input_.data(), bytes};
    request.book_->held.push_back(request);
    if (request.answered_.load(std::memory_order_relaxed)) return core_.serving.post_reply(request);
    if (request.use_.users_gone) core_.serving.users_gone(request);
}

void Request::outlive_arrival() noexcept { core_->target.keep_beyond_arrival(*this); }

}  // namespace cinnabar::rpc
