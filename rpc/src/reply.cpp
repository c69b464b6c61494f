// SPDX-License-Identifier: BSD-3-Clause
// A reply's way in: credits first, then the one call that it belongs to.
#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

namespace cinnabar::rpc {

void ContextCore::on_expected(na::Arrival& arrival) noexcept {
    PeerBook* book = book_of(*arrival.source);
    if (!book) return;
    book->heard = na->now_us();
    ReplyHeader header;
    ConstBytes payload;
    const Errc decoded = book->codec->decode_reply(arrival.bytes, header, payload);
    if (decoded == Errc::ok) {
        if (book->strict) settle_reply(*book);
        book->credits += header.credits;
    } else {
        log(LogLevel::warning, "a reply from %s makes no sense", arrival.source->addr().to_string().c_str());
    }
    Call* call = calls.at(static_cast<std::uint32_t>(arrival.tag & ((1u << call_slot_bits) - 1)));
    // Late replies fail the generation; hostile ones also the peer.
    const bool matches = call && call->id() == arrival.tag && call->book_ == book;
    if (decoded == Errc::ok && (header.flags & flag_overflow) != 0 && (!matches || call->state_ != Call::State::sent)) {
        send_control(*book, {ControlType::fetched, 0, arrival.tag});  // a large result that comes too late
    }
    if (matches) {
        if (call->state_ == Call::State::sent) {
            if (decoded == Errc::ok) {
                accept_reply(*call, arrival, header, payload);
            } else {
                finish(*call, decoded);
            }
        } else if (call->awaiting_release_) {
            release_came(*call);  // an answer, however late, says that the handler is done with what was lent
        }
    }
    pump(*book);
    drop_book_if_idle(*book);
}

void ContextCore::accept_reply(Call& call, na::Arrival& arrival, const ReplyHeader& header,
                               ConstBytes payload) noexcept {
    call.output_shape_ = header.shape;
    if (header.result != Errc::ok) {
        const bool known = static_cast<std::uint8_t>(header.result) < errc_count;
        if (payload.size() >= 4 && arrival.port->keep(arrival, call.reply_) == Errc::ok) {
            ++replies_kept;
            Reader reader(call.reply_.bytes.last(payload.size()));
            call.app_code_ = reader.u32();
            call.app_text_ = as_text(reader.view(reader.left()));
        }
        // `again` and such are no endings.
        return finish(call, known && header.result != Errc::again ? header.result : Errc::handler_failed);
    }
    if (const Errc kept = arrival.port->keep(arrival, call.reply_); kept != Errc::ok) return finish(call, kept);
    ++replies_kept;
    const ConstBytes kept_payload = call.reply_.bytes.last(payload.size());
    if ((header.flags & flag_overflow) != 0) return pull_output(call, kept_payload);
    call.output_ = kept_payload;
    finish(call, Errc::ok);
}

}  // namespace cinnabar::rpc
