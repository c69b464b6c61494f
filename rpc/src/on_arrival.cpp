// SPDX-License-Identifier: BSD-3-Clause
// Handlers that run where their request was read (Handler::on_arrival). One request, kept at hand, serves them all: it
// is in no list and no table, since nobody can cancel it or lose its connection meanwhile. A handler that keeps its
// request, or a reply that cannot leave at once, makes it one like any other.
#include "context_core.hpp"

#include <cinnabar/rpc/proc_shape.hpp>

#include <cstring>
#include <utility>

namespace cinnabar::rpc {

// Here a request parts from the whole way.
bool ContextCore::may_run_on_arrival(const PeerBook& book, const RequestHeader& header,
                                     const Handler& handler) const noexcept {
    constexpr std::uint16_t others = flag_overflow | flag_one_way;
    return handler.on_arrival && (header.flags & others) == 0 && header.payload_bytes <= Request::small_bytes_max &&
           header.time_left_us != 0 && shapes_match(handler.shape, header.shape) && !closing_ && !engine.draining() &&
           !tombstones_used && book.account.may_give();
}

void ContextCore::run_on_arrival(Request& request, ConstBytes payload) noexcept {
    at_hand = &request;
    request.input_ = payload;
    request.arriving_ = true;
    request.handler_->run(request, request.handler_->target.get());
    if (!request.arriving_) return;
    PeerBook& book = *request.book_;
    if (!request.users_gone_ || !request.answered_.load(std::memory_order_relaxed)) return keep_beyond_arrival(request);
    book.account.come_back();
    const std::uint16_t credits = credits_for(book);
    const ConstBytes reply = write_reply(request, credits);
    if (reply.empty() || !na->send_now(*book.peer, na::OpKind::send_expected, request.tag_, reply)) {
        book.account.take_back(credits);
        request.credit_returned_ = true;
        watch_starving(book);
        return keep_beyond_arrival(request);
    }
    book.account.request_over();
    request.arriving_ = request.users_gone_ = false;
    request.output_bytes_ = 0;
    request.output_shape_ = 0;
    request.answer_ = Errc::ok;
    request.answered_.store(false, std::memory_order_relaxed);
    request.user_data = nullptr;
}

// From here on it is a request like any other.
void ContextCore::keep_beyond_arrival(Request& request) noexcept {
    at_hand = nullptr;
    request.arriving_ = false;
    const std::size_t bytes = request.input_.size();
    std::memcpy(request.small_input_.data(), request.input_.data(), bytes);
    request.input_ = {request.small_input_.data(), bytes};
    request.book_->held.push_back(request);
    request_table.insert(request, *request.book_, request.tag_);
    if (request.answered_.load(std::memory_order_relaxed)) return post_reply(request);
    if (request.users_gone_) users_gone(request);
}

void Request::outlive_arrival() noexcept { core_->keep_beyond_arrival(*this); }

}  // namespace cinnabar::rpc
