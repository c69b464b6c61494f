// SPDX-License-Identifier: BSD-3-Clause
// Accepts requests. Every request gets an answer, unless the answer cannot be addressed.
#include "target.hpp"

#include "context_core.hpp"
#include "plain_frame.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/rpc/proc_shape.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cinnabar::rpc {

namespace {

// Requests beyond the limit need slots as well, for their answers.
constexpr std::uint32_t request_slots_spare = 4'096;

}  // namespace

Target::Target(ContextCore& core, const Options& options) noexcept
    : requests(ThreadUse::one, options.requests_held_max + request_slots_spare),
      core_(core),
      uncrowded_max_(options.requests_held_max / 2) {}

void Target::cancel(PeerBook& book, std::uint64_t tag) noexcept {
    if (Request* request = find(book, tag)) return core_.serving.cancel(*request);
    if (core_.transport_of(book.peer->port())->caps().ordered) return;
    early_cancels_.put(*book.peer, tag);
    is_short_way_closed_ = true;
}

void Target::close() noexcept {
    if (at_hand_) requests.release(*std::exchange(at_hand_, nullptr));
}

inline std::uint32_t Target::in_handlers() const noexcept { return taken() - core_.credits.replies_unsent(); }

[[gnu::always_inline]] inline void Target::begin(Request& request, PeerBook& book,
                                                 const na::Arrival& arrival) noexcept {
    request.core_ = &core_;
    request.work_.user = &request;
    request.book_ = &book;
    request.tag_ = arrival.tag;
    request.port_ = arrival.port;
    if (request.source_ != book.peer->addr()) request.source_ = book.peer->addr();
    if (request.message_ && request.message_->port != arrival.port) Serving::drop_message(request);
    request.references_.store(1, std::memory_order_relaxed);
    request.since_.store(static_cast<std::uint32_t>(book.heard >> 10) & ~1u, std::memory_order_relaxed);
}

inline void Target::copy_input(Request& request, ConstBytes payload) noexcept {
    std::memcpy(request.small_input_.data(), payload.data(), payload.size());
    request.input_ = {request.small_input_.data(), payload.size()};
}

inline TimeUs Target::deadline_of(std::uint64_t time_left_us) const noexcept {
    const TimeUs now = core_.na->now_us();
    const TimeUs most = time_never - 1 - now;
    return time_left_us == time_left_none ? time_never : now + std::min(time_left_us, most);
}

// Sets what most requests do not use.
[[gnu::always_inline]] inline void Target::describe_unusual(Request& request, std::uint16_t flags,
                                                            const TraceContext& trace) noexcept {
    static_assert(flag_trace >> 4 == RequestAsks::trace && flag_times >> 4 == RequestAsks::times);
    static_assert(flag_unsampled >> 4 == RequestAsks::unsampled);
    constexpr unsigned known = RequestAsks::trace | RequestAsks::times | RequestAsks::unsampled;
    request.asks_.bits = static_cast<std::uint8_t>(flags >> 4 & known);
    request.trace_ = trace;
    begin_times(request);
}

[[gnu::always_inline]] inline void Target::begin_times(Request& request) noexcept {
    request.came_us_ = request.book_->heard;  // it was read when the message came
    request.handler_us_ = 0;
    request.ended_us_ = 0;
    request.transfers_us_ = 0;
}

void Target::describe(Request& request, const RequestHeader& header, const Handler* handler) noexcept {
    request.handler_ = handler;
    request.rpc_ = header.rpc;
    request.provider_ = header.provider;
    request.shape_ = header.shape;
    describe_unusual(request, header.flags, header.trace);
    if ((header.flags & flag_wants_credits) != 0) request.book_->account.set_wants_credits(true);
    request.deadline_ = deadline_of(header.time_left_us);
}

void Target::begin_unusual(Request& request, PlainRequest frame) noexcept {
    describe_unusual(request, frame.flags(), frame.traced() ? frame.trace() : TraceContext());
}

// Passes the request to its handler through the completion queue.
void Target::start(Request& request) noexcept {
    request.work_.run = bind<&Serving::run_handler>;
    core_.na->enqueue(request.work_);
}

void Target::on_unexpected(na::Arrival& arrival) noexcept {
    auto* const book = static_cast<PeerBook*>(arrival.source->upper);
    if (!book || !book->open) [[unlikely]]
        return on_first_message(arrival);
    book->heard = core_.na->now_us();
    book->bytes_received += arrival.bytes.size();
    const bool plain = PlainRequest::is_plain(arrival.bytes);
    if (!plain && frame_kind(arrival.bytes) == static_cast<std::uint8_t>(FrameKind::control)) {
        return core_.control.on_message(*book, arrival.bytes);
    }
    if (!book->account.spend()) [[unlikely]]
        return core_.control.end_session(*book, "sends requests without credits");
    if (book->account.granted() == 0) [[unlikely]]
        core_.credits.watch_starving(*book);
    if (!plain || !accept_plain(*book, arrival)) [[unlikely]]
        accept(*book, arrival);
}

void Target::on_first_message(na::Arrival& arrival) noexcept {
    PeerBook* const book = core_.peers.book_of(*arrival.source);
    if (!book) return arrival.source->port().disconnect(*arrival.source);  // out of memory: the peer is disconnected
    if (!book->open) core_.peers.open(*book);
    on_unexpected(arrival);
}

[[gnu::always_inline]] inline void Target::begin_plain(Request& request, PeerBook& book, const na::Arrival& arrival,
                                                       const Handler& handler) noexcept {
    const PlainRequest frame(arrival.bytes.data());
    const std::uint16_t flags = frame.flags();
    begin(request, book, arrival);
    request.handler_ = &handler;
    request.rpc_ = frame.rpc();
    request.provider_ = frame.provider();
    request.shape_ = frame.shape();
    request.deadline_ = deadline_of(frame.time_left_us());
    if (((flags & (flag_trace | flag_times)) | request.asks_.bits) != 0) [[unlikely]] {
        if (((flags & flag_trace) | request.asks_.bits) == 0) {
            request.asks_.bits = RequestAsks::times;
            begin_times(request);
        } else {
            begin_unusual(request, frame);
        }
    }
    if ((flags & flag_wants_credits) != 0) book.account.set_wants_credits(true);
}

// The fast path, for requests whose small arguments are in the message. This function makes the checks of admit(),
// except for crowded(). False: nothing has changed, and accept() must decide, because the request may have to be
// refused, or too many requests may be held. Requires: the credit of the request was spent.
inline bool Target::accept_plain(PeerBook& book, na::Arrival& arrival) noexcept {
    const PlainRequest frame(arrival.bytes.data());
    const std::size_t bytes = frame.payload_bytes();
    if (bytes > Request::small_bytes_max || frame.time_left_us() == 0) [[unlikely]]
        return false;
    if (is_short_way_closed_ || core_.engine.draining()) [[unlikely]]
        return false;
    const Handler* const handler = core_.engine.find(frame.rpc(), frame.provider());
    if (!handler) [[unlikely]]
        return false;
    const bool same_shape = handler->shape == frame.shape();
    if (!same_shape && !shapes_match(handler->shape, frame.shape())) [[unlikely]]
        return false;
    bool at_once = false;
    if (handler->on_arrival) {
        if (handler->urgent) [[unlikely]]
            return false;
        at_once = !queues_all_ && book.account.may_give();
    }
    if (!at_once && in_handlers() >= uncrowded_max_) [[unlikely]]
        return false;
    if (const auto* const verdict = core_.access.refusal_of(book, *handler, frame.provider())) [[unlikely]]
        return accept(book, arrival, verdict), true;
    if (at_once) {
        Request* const request = at_hand_ ? at_hand_ : requests.acquire();
        if (!request) return false;
        begin_plain(*request, book, arrival, *handler);
        run_on_arrival(*request, {frame.payload(), bytes});
        return true;
    }
    Request* const request = requests.acquire();
    if (!request) [[unlikely]]
        return false;
    begin_plain(*request, book, arrival, *handler);
    book.held.push_back(*request);
    copy_input(*request, {frame.payload(), bytes});
    start(*request);
    return true;
}

// Accepts any other request. Requires: its credit was spent. `verdict`: null if the policy was not asked.
void Target::accept(PeerBook& book, na::Arrival& arrival, const Policy::Verdict* verdict) noexcept {
    RequestHeader header;
    ConstBytes payload;
    Errc refused = decode_request(arrival.bytes, header, payload);
    const Handler* const handler = refused == Errc::ok ? core_.engine.find(header.rpc, header.provider) : nullptr;
    if (handler && !verdict) verdict = core_.access.refusal_of(book, *handler, header.provider);
    Request* request = requests.acquire();
    const RequestHeader nothing;
    // The header is used even after bad_checksum, because the checksum covers only the arguments, and without the flags
    // a one-way request would be answered.
    const RequestHeader& known = refused == Errc::protocol ? nothing : header;
    if (!request) return core_.slow_readers.refuse(book, arrival.tag, known.flags);
    begin(*request, book, arrival);
    describe(*request, known, handler);
    request->output_bytes_ = 0;  // as answer_now() requires; a policy rule may add a text
    request->output_shape_ = 0;
    request->one_way_ = (known.flags & flag_one_way) != 0;
    if (request->one_way_) request->go_whole_way();
    if ((known.flags & flag_place) != 0) {
        request->go_whole_way();
        request->whole_.place = known.place;
    }

    book.held.push_back(*request);
    if (refused == Errc::ok) refused = admit(*request, header);
    if (refused == Errc::ok && verdict) refused = core_.access.obey(*request, *verdict);
    if (refused == Errc::ok) refused = take_input(*request, arrival, payload);
    const bool large = (header.flags & flag_large) != 0;
    if (refused == Errc::overloaded) {
        request->use_.credit_returned = true;
        core_.credits.retire(book);
    }
    if (refused != Errc::ok) {
        if (large) core_.large_values.release_input(*request);
        return core_.serving.answer_now(*request, refused);
    }
    if (large) return core_.large_values.pull_input(*request, request->input_);
    if (handler->urgent) return start_urgent(*request);
    start(*request);
}

// The request does not enter the completion queue, where it would wait for the handlers before it. Instead, ring_
// enters that queue, so that the thread that runs ring_ empties urgent_, too.
void Target::start_urgent(Request& request) noexcept {
    request.work_.run = [](WorkItem& work) noexcept { Serving::run_urgent(request_of(work.user)); };
    urgent_.push_back(request.work_);
    if (std::exchange(rings_, true)) return;
    ring_.user = this;
    ring_.run = [](WorkItem& work) noexcept {
        auto& target = *static_cast<Target*>(work.user);
        target.core_.owned([&] { target.rings_ = false; });
        target.run_urgent();
    };
    core_.na->enqueue(ring_);
}

void Target::run_urgent() noexcept {
    WorkQueue taken;
    core_.owned([&] { taken.splice_back(urgent_); });
    while (WorkItem* request = taken.pop_front()) request->run(*request);
}

// Requests that arrived since the last call are at the end of the list; each is inserted into the table once.
Request* Target::find(PeerBook& book, std::uint64_t tag) noexcept {
    for (Request* newest = book.held.back(); newest; newest = newest->link_.previous) {
        if (newest->use_.orphaned || RequestTable::has(*newest)) break;
        table.insert(*newest, book, newest->tag_);
    }
    return table.find(book, tag);
}

// Keeps the arguments: small ones are copied, others keep their receive slot.
Errc Target::take_input(Request& request, na::Arrival& arrival, ConstBytes payload) noexcept {
    if (payload.size() <= Request::small_bytes_max) {
        copy_input(request, payload);
        return Errc::ok;
    }
    request.go_whole_way();
    const Errc failed = arrival.port->keep(arrival, request.kept_);
    if (failed == Errc::ok) request.input_ = request.kept_.bytes.subspan(request_header_bytes, payload.size());
    return failed;
}

// Whether there are too many requests, including this one. One peer must leave room for at least as many requests as it
// has, but it may always have one. So there is room for the next peer.
bool Target::crowded(const PeerBook& book) const noexcept {
    const std::uint32_t all = in_handlers();
    return all > core_.options.requests_held_max ||
           book.account.handling() > std::max(core_.options.requests_held_max - all, std::uint32_t{1});
}

Errc Target::admit(Request& request, const RequestHeader& header) noexcept {
    if (header.time_left_us == 0) return Errc::timed_out;
    const bool part_of_call = request.handler_ && request.handler_->by_key;  // a key is valid only during a call
    if ((core_.engine.draining() && !part_of_call) || core_.closing_) return Errc::shutting_down;
    if (in_handlers() > uncrowded_max_ && crowded(*request.book_)) return Errc::overloaded;
    if (early_cancels_.take(*request.book_->peer, request.tag_)) return Errc::canceled;
    if (!request.handler_) return Errc::no_such_rpc;
    return shapes_match(request.handler_->shape, header.shape) ? Errc::ok : Errc::bad_signature;
}

}  // namespace cinnabar::rpc
