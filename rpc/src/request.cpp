// SPDX-License-Identifier: BSD-3-Clause
// The life of a request: run by its handler, answered once, released, freed. The slot of a request is freed when its
// reply was sent (post_reply.cpp), it has no references and no transfers, and a large result was fetched.
#include "context_core.hpp"
#include "plain_frame.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/test_yield.hpp>

#include <algorithm>
#include <cstring>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t error_text_bytes_max = 256;

}  // namespace

Context& Request::context() const noexcept { return *core_->facade; }

Serving::Serving(ContextCore& core, const Options& options) noexcept
    : transfers(ThreadUse::one, options.bulk.transfers_max), core_(core) {}

void Serving::run_handler(Request& request) noexcept {
    const TimeUs started = core_.na->callback_begins();
    const Handler& handler = *request.handler_;
    if (request.canceled_.load(std::memory_order_relaxed) || started >= request.deadline_) {
        request.respond_error(request.canceled_.load(std::memory_order_relaxed) ? Errc::canceled : Errc::timed_out);
        return request.release();
    }
    handler.run(request, handler.target.get());
    const auto limit = static_cast<TimeUs>(core_.options.handler_time_max.count());
    if (limit == 0) return;
    const TimeUs took = core_.na->callback_ends() - started;
    if (took > limit) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "rpc", {rpc_field(handler.name)},
                    "the handler of %s held its context for %llu us: serve it on a pool, or as a coroutine",
                    handler.name.c_str(), static_cast<unsigned long long>(took));
    }
}

void Serving::run_urgent(Request& request) noexcept {
    if (request.canceled()) {
        request.respond_error(request.canceled_.load(std::memory_order_relaxed) ? Errc::canceled : Errc::timed_out);
        return request.release();
    }
    request.handler_->run(request, request.handler_->target.get());
}

void Serving::answer_now(Request& request, Errc code) noexcept {
    const bool malformed = code == Errc::protocol || code == Errc::bad_checksum;
    if (malformed && !std::exchange(request.book_->complained, true)) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "rpc", {peer_field(request.source_), error_field(code)},
                    "a request from %s is malformed", request.source_.log_name().c_str());
    }
    request.use_.users_gone = true;
    request.references_.store(0, std::memory_order_relaxed);
    request.answer_ = code;
    request.answered_.store(true, std::memory_order_relaxed);
    core_.credits.return_slot(request);
    post_reply(request);
}

void Request::detach() noexcept {
    if (arriving_) outlive_arrival();
    core_->owned([this] {
        if (holds_slot() && !kept_.detached) {
            const std::size_t input_bytes = input_.size();
            if (kept_.port->detach(kept_) != Errc::ok) return;
            input_ = kept_.bytes.subspan(request_header_bytes, input_bytes);
        }
        if (!use_.credit_returned) core_->credits.return_one(*this);
    });
}

void Request::release_input() noexcept {
    if (arriving_) return;  // there is no slot to return
    core_->owned([this] {
        input_ = {};
        core_->credits.return_slot(*this);
        core_->large_values.drop_input(*this);
    });
}

Errc Request::charge_memory(std::uint64_t bytes) noexcept {
    if (arriving_) outlive_arrival();
    if (const Errc over = core_->large_memory.reserve_decoded(bytes, decoded_bytes_, payer_of(*this));
        over != Errc::ok) {
        core_->access.note_refused_bytes(*this);
        return over;
    }
    go_whole_way();
    decoded_bytes_ += bytes;
    return Errc::ok;
}

Errc Request::grow_output(std::size_t bytes, Bytes& room) noexcept {
    CINNABAR_ASSERT(!answered() && !large_output_);
    if (arriving_) outlive_arrival();
    go_whole_way();
    const Errc made = core_->large_memory.allocate(bytes, large_output_, payer_of(*this));
    if (made == Errc::ok)
        room = large_output_.contiguous();
    else
        core_->access.note_refused_bytes(*this);
    return made;
}

Bytes Request::output_room() noexcept {
    if (!message_ && !core_->closed_) message_ = port_->take_message();
    return message_ ? message_->bytes().subspan(reply_header_bytes) : Bytes();
}

void Request::respond(std::size_t output_bytes, std::uint16_t shape, SentFunction sent, void* user) noexcept {
    CINNABAR_ASSERT(!answered());
    if (sent) {
        acquire();
        go_whole_way();
        on_sent_ = sent;
        on_sent_user_ = user;
    }
    output_bytes_ = static_cast<std::uint32_t>(output_bytes);
    output_shape_ = shape;
    answer_ = Errc::ok;
    if (output_is_large() && output_room().empty()) {
        answer_ = Errc::overloaded;
        output_bytes_ = 0;
    }
    post_answer();
}

// Sends the reply on the fast path, for a request without references that has used nothing of the slow path. False: use
// the slow path; nothing has changed, except that the credit may have come back.
[[gnu::always_inline]] inline bool Serving::reply_short_way(Request& request) noexcept {
    CINNABAR_DEBUG_ASSERT(!request.whole_way() && !request.one_way_ && !request.use_.orphaned);
    PeerBook& book = *request.book_;
    CreditAccount& account = book.account;
    if (core_.closed_ || !request.message_ || !account.may_give()) return false;
    if (!request.use_.credit_returned) account.return_one();
    const std::uint16_t credits = core_.credits.for_reply(book);
    ConstBytes reply(request.message_->payload, reply_header_bytes + request.output_bytes_);
    if (request.answer_ == Errc::ok && core_.frame_flags == 0) [[likely]] {
        PlainReply::encode(request.message_->payload, request.output_bytes_, request.output_shape_, credits);
        if (request.asks_.timed()) [[unlikely]]
            reply = add_times(request, reply);
    } else {
        reply = write_reply(request, credits);
    }
    book.bytes_sent += reply.size();  // before it is sent, while the number is at hand
    if (core_.na->send_now(*book.peer, na::OpKind::send_expected, request.tag_, reply)) return true;
    book.bytes_sent -= reply.size();
    account.take_back(credits);
    request.use_.credit_returned = true;
    if (reply.size() != reply_header_bytes + request.output_bytes_) request.asks_.bits |= RequestAsks::times;
    core_.credits.watch_starving(book);
    return false;
}

bool Serving::reply_at_once(Request& request) noexcept { return reply_short_way(request); }

// Does not reset what describe() and the next answer will set.
[[gnu::always_inline]] inline void Serving::free(Request& request) noexcept {
    CINNABAR_DEBUG_ASSERT(request.nothing_beside_message());
    PeerBook& book = *request.book_;
    book.held.remove(request);
    core_.target.table.remove(request);
    book.account.request_over();
    if (request.slot_index >= core_.messages_retained) drop_message(request);
    request.user_data = nullptr;
    request.use_ = {};
    request.answered_.store(false, std::memory_order_relaxed);
    request.canceled_.store(false, std::memory_order_relaxed);
    core_.target.requests.release(request);
    core_.peers.drop_if_idle(book);
    core_.go_if_over();
}

// If the caller has the only reference, the queued reply takes a reference of its own. The release that usually follows
// is then not the last release, and need not be submitted to the owner.
void Request::post_answer() noexcept {
    if (arriving_) return answered_.store(true, std::memory_order_relaxed);
    reply_refers_ = references_.load(std::memory_order_relaxed) == 1 &&
                    (!whole_way() || !on_cancel_.load(std::memory_order_relaxed));
    if (reply_refers_) references_.store(2, std::memory_order_relaxed);
    answered_.store(true, std::memory_order_release);
    work_.run = [](WorkItem& work) noexcept {
        Request& request = request_of(work.user);
        ContextCore& core = *request.core_;
        if (!request.reply_refers_) return core.serving.post_reply(request);
        // If the count is 1, no atomic decrement is needed.
        request.use_.users_gone = request.references_.load(std::memory_order_acquire) == 1 ||
                                  request.references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
        if (!request.use_.users_gone) return core.serving.post_reply(request);
        request.references_.store(0, std::memory_order_relaxed);
        if (!request.whole_way() && core.serving.reply_short_way(request)) return core.serving.free(request);
        core.serving.post_reply(request);
    };
    core_->run_owned(work_);
}

void Request::respond_error(Errc code, std::uint32_t app_code, std::string_view text) noexcept {
    CINNABAR_ASSERT(code != Errc::ok && !answered());
    output_bytes_ = 0;
    output_shape_ = 0;
    if (app_code != 0 || !text.empty()) {
        ByteWriter writer(output_room());
        writer.u32(app_code);
        writer.bytes(as_bytes(text.substr(0, std::min(text.size(), error_text_bytes_max))));
        if (writer.ok()) output_bytes_ = static_cast<std::uint32_t>(writer.size());
    } else if (code == Errc::overloaded || code == Errc::too_large) {
        output_bytes_ = Access::explain_refused_bytes(*this);
    }
    answer_ = code;
    post_answer();
}

na::Peer& Request::peer() const noexcept { return *book_->peer; }

bool Request::from_own_user() const noexcept {
    bool is = false;
    core_->owned([&] { is = !use_.orphaned && book_->peer && book_->peer->of_own_user(); });
    return is;
}

bool Request::canceled() const noexcept {
    return canceled_.load(std::memory_order_acquire) ||
           (deadline_ != time_never && core_->na->clock().now_us() >= deadline_);
}

void Request::on_cancel(CancelFunction function, void* user) noexcept {
    if (answered()) return;
    if (arriving_) outlive_arrival();
    go_whole_way();
    on_cancel_user_ = user;
    // The owner sets canceled_ first and then reads on_cancel_, so one of the two threads sees the change of the other.
    on_cancel_.store(function, std::memory_order_seq_cst);
    if (!canceled_.load(std::memory_order_seq_cst)) return;
    core_->owned([this] { core_->serving.tell_canceled(*this); });
}

void Serving::cancel(Request& request) noexcept {
    if (request.canceled_.exchange(true, std::memory_order_seq_cst)) return;
    if (request.pull_) core_.mover->cancel(*request.pull_);
    for (RequestTransfer* node = request.transfers_; node; node = node->next) {
        if (node->transfer) core_.mover->cancel(*node->transfer);
    }
    tell_canceled(request);
    PeerBook& book = *request.book_;
    const ControlRecord released{ControlType::released, 0, request.tag_};
    const bool is_released = !request.transfers_ && !request.pull_ && book.open && !request.use_.orphaned;
    // Nobody will fetch the large result. The request may be freed here.
    if (request.lend_) core_.large_values.result_released(request);
    if (is_released) core_.control.send(book, released);
}

// The last release may happen on another thread at any time, so a count of 0 must stay 0.
bool Request::acquire_if_held() noexcept {
    std::uint32_t held = references_.load(std::memory_order_relaxed);
    CINNABAR_TEST_YIELD("request: references read");
    while (held != 0) {
        if (references_.compare_exchange_weak(held, held + 1, std::memory_order_acquire)) return true;
    }
    return false;
}

// Queues the user's function once, holding a reference until it has run.
void Serving::tell_canceled(Request& request) noexcept {
    if (request.whole_.cancel_told || !request.on_cancel_.load(std::memory_order_seq_cst)) return;
    if (!request.acquire_if_held()) return;
    request.whole_.cancel_told = true;
    request.cancel_work_.user = &request;
    request.cancel_work_.run = [](WorkItem& work) noexcept {
        Request& told = request_of(work.user);
        // Not called after the last release, because the data of the function may be gone by then.
        const CancelFunction function = told.on_cancel_.load(std::memory_order_acquire);
        if (function && told.references_.load(std::memory_order_acquire) > 1) function(told, told.on_cancel_user_);
        told.release();
    };
    core_.na->enqueue(request.cancel_work_);
}

bulk::Transfer* Request::transfer(bulk::TransferArgs args, bulk::TransferDone done, void* user,
                                  bulk::TransferProgress progress, Errc& why) noexcept {
    if (arriving_) outlive_arrival();
    bulk::Transfer* started = nullptr;
    core_->owned([&] {
        why = Errc::canceled;
        if (canceled_.load(std::memory_order_relaxed) || core_->closed_) return;
        why = Errc::overloaded;
        RequestTransfer* node = core_->serving.transfers.acquire();
        if (!node) return;
        go_whole_way();
        node->request = this;
        node->done = done;
        node->progress = progress;
        node->user = user;
        args.peer = source_;
        args.connected = &peer();
        args.deadline = std::min(args.deadline, deadline_);
        const auto finished = [](bulk::Transfer& transfer, void* context) noexcept {
            auto& over = *static_cast<RequestTransfer*>(context);
            ContextCore& core = *over.request->core_;
            const bulk::TransferDone tell = over.done;
            void* const teller = over.user;
            core.owned([&] { core.serving.transfer_finished(over); });
            tell(transfer, teller);
        };
        const auto grown = [](bulk::Transfer& transfer, std::uint64_t bytes, void* context) noexcept {
            auto& under_way = *static_cast<RequestTransfer*>(context);
            under_way.progress(transfer, bytes, under_way.user);
        };
        started = core_->mover->start(args, finished, node, bulk::Deliver::queued,
                                      progress ? bulk::TransferProgress(grown) : nullptr, why);
        if (!started) return core_->serving.transfers.release(*node);
        node->transfer = started;
        if (asks_.timed() && !transfers_) core_->serving.note_transfers(*this, true);
        node->next = transfers_;
        transfers_ = node;
    });
    return started;
}

void Serving::note_transfers(Request& request, bool begin) const noexcept {
    const TimeUs now = core_.na->clock().now_us();
    if (begin) {
        request.transfers_since_us_ = now;
    } else {
        request.transfers_us_ += now - std::min(request.transfers_since_us_, now);
    }
}

void Serving::transfer_finished(RequestTransfer& node) noexcept {
    Request& request = *node.request;
    for (RequestTransfer** at = &request.transfers_; *at; at = &(*at)->next) {
        if (*at != &node) continue;
        *at = node.next;
        break;
    }
    node.transfer = nullptr;
    if (request.asks_.timed() && !request.transfers_) note_transfers(request, false);
    transfers.release(node);
    if (!request.transfers_ && request.canceled_.load(std::memory_order_relaxed) && request.book_ &&
        request.book_->open && !request.use_.orphaned) {
        core_.control.send(*request.book_, {ControlType::released, 0, request.tag_});
    }
    free_if_over(request);
}

void Request::release() noexcept {
    if (arriving_ && references_.load(std::memory_order_relaxed) == 1) {
        references_.store(0, std::memory_order_relaxed);
        use_.users_gone = true;
        return;
    }
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    release_work_.user = this;
    release_work_.run = bind<&Serving::users_gone>;
    core_->run_owned(release_work_);
}

void Serving::users_gone(Request& request) noexcept {
    request.use_.users_gone = true;
    if (!request.answered_.load(std::memory_order_acquire)) {
        request.answer_ = Errc::canceled;
        request.output_bytes_ = 0;
        request.output_shape_ = 0;
        request.answered_.store(true, std::memory_order_relaxed);
        request.work_.run = bind<&Serving::post_reply>;
        core_.credits.return_slot(request);
        return post_reply(request);
    }
    core_.credits.return_slot(request);
    free_if_over(request);
}

void Serving::drop_message(Request& request) noexcept {
    if (request.message_) request.message_->port->give_message(*std::exchange(request.message_, nullptr));
}

void Serving::free_if_over(Request& request) noexcept {
    if (!request.use_.reply_done || !request.use_.users_gone) return;
    CINNABAR_DEBUG_ASSERT(!request.kept_ && request.use_.credit_returned);  // because its users are gone
    if (request.whole_way()) {
        if (request.transfers_ || request.pull_ || request.lend_) return;
        end_whole_way(request);
    }
    free(request);
}

// Frees what the request has besides its message.
void Serving::end_whole_way(Request& request) noexcept {
    const Payer payer = payer_of(request);
    core_.large_values.drop_input(request);
    core_.large_memory.drop(request.large_output_, payer);
    if (const std::uint64_t charged = std::exchange(request.decoded_bytes_, 0)) {
        core_.large_memory.give_back_decoded(charged, payer);
    }
    if (request.counted_by_) {
        request.counted_by_->give_back_request();
        request.counted_by_.reset();
    }
    request.on_cancel_.store(nullptr, std::memory_order_relaxed);
    request.whole_ = {};
    request.one_way_ = false;
    request.is_whole_way_.store(false, std::memory_order_relaxed);
}

}  // namespace cinnabar::rpc
