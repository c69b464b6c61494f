// SPDX-License-Identifier: BSD-3-Clause
// Session: posting work requests, and handling their completions.
#include "completion.hpp"
#include "memory.hpp"
#include "message_header.hpp"
#include "port.hpp"
#include "rdma_library.hpp"
#include "session.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cinnabar::verbs {
namespace {

constexpr std::uint32_t batch_max = 32;
// The maximum number of puts, gets and atomics in the send queue: enough to keep the link busy, few enough not to delay
// messages much.
constexpr std::uint32_t rma_out_max = 16;

using HeaderBytes = std::array<std::byte, message_header_bytes>;

HeaderBytes header_bytes(MessageKind kind, std::uint16_t credits, std::uint32_t value) noexcept {
    HeaderBytes bytes{};
    MessageHeader{kind, credits, value, 0}.encode(bytes);
    return bytes;
}

ibv_sge piece_of(const HeaderBytes& bytes) noexcept {
    return {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0};
}

// Why a device refused to take a request. On iWARP, a device refuses requests when the stream has broken; other devices
// take the request and flush it.
ibv_wc_status refusal_of(const Device& device) noexcept {
    return device.traits().iwarp ? IBV_WC_RETRY_EXC_ERR : IBV_WC_GENERAL_ERR;
}

}  // namespace

// Messages that one call posts.
struct Session::Batch {
    std::array<ibv_send_wr, batch_max> requests;
    std::array<ibv_sge, batch_max> pieces;
    std::array<Posted*, batch_max> copied;  // sent inline, so they complete when they are posted
    HeaderBytes credit;
    std::uint32_t count = 0;
    bool wants_signal = false;

    ibv_send_wr& next(const ibv_sge& piece, bool inlined) noexcept {
        pieces[count] = piece;
        ibv_send_wr& request = requests[count];
        request = {};
        request.opcode = IBV_WR_SEND;
        request.sg_list = &pieces[count];
        request.num_sge = 1;
        request.send_flags = inlined ? unsigned{IBV_SEND_INLINE} : 0u;
        if (count > 0) requests[count - 1].next = &request;
        copied[count] = nullptr;
        ++count;
        return request;
    }
};

// Gives a work request the next place in the send queue.
ibv_send_wr& Session::enter(ibv_send_wr& request, const Sent& sent) noexcept {
    request.wr_id = WorkId::of_send(slot_index, life_, sent_.enter(sent)).raw();
    port_->room().take();
    return request;
}

// Posts a chain. False: the device refused a request and those after it, and the session ends.
bool Session::post(ibv_send_wr* first) noexcept {
    ibv_send_wr* refused = nullptr;
    if (::ibv_post_send(id_->qp, first, &refused) == 0) return true;
    const ibv_wc_status why = refusal_of(port_->device());
    sent_.refused(WorkId((refused ? refused : first)->wr_id).place(), why,
                  [this](const Sent& sent, ibv_wc_status status) { ended(sent, status); });
    port_->lost(*this, session_error(why));
    return false;
}

bool Session::post(Batch& batch) noexcept {
    if (batch.count == 0) return true;
    if (batch.wants_signal || sent_.must_signal(port_->room().low())) {
        batch.requests[batch.count - 1].send_flags |= IBV_SEND_SIGNALED;
        sent_.signalled();
    }
    const bool posted = post(batch.requests.data());
    for (std::uint32_t i = 0; i < batch.count; ++i) {
        if (batch.copied[i])
            port_->end(*batch.copied[i], posted ? Errc::ok : session_error(refusal_of(port_->device())));
    }
    return posted;
}

void Session::transmit() noexcept {
    if (stage_ != Stage::open || peer_->ending()) return;
    if (peer_->to_bind.any() && !send_binds()) return;
    send_messages();
    while (stage_ == Stage::open && !peer_->ending() && send_rma()) continue;
}

// Binds the windows of leases for this peer. Call it before further messages are sent, because the messages may have
// the keys of the leases; the device executes requests in the order of posting. False: some windows have to wait for
// room, or the session ends.
bool Session::send_binds() noexcept {
    while (peer_->to_bind.any()) {
        if (sent_.room() == 0) return false;
        if (!port_->room().any()) return port_->room().wait(*this), false;
        BindRequests binds;
        port_->transport().bindings().take(peer_->to_bind, bound_, sent_.room(), binds);
        if (binds.count == 0) break;  // revoked meanwhile
        for (std::uint32_t i = 0; i < binds.count; ++i) {
            Sent sent;
            sent.lent = binds.lent[i];
            enter(binds.requests[i], sent);
        }
        binds.requests[binds.count - 1].send_flags = IBV_SEND_SIGNALED;
        sent_.signalled();
        if (!post(binds.requests.data())) return false;
    }
    return true;
}

void Session::send_messages() noexcept {
    na::PostedOps& waiting = peer_->messages;
    for (bool more = true; more && !peer_->ending();) {
        Batch batch;
        const auto fits = [&] { return batch.count < batch_max && sent_.room() > 0 && port_->room().any(); };
        while (!waiting.empty() && sends.any() && fits()) {
            auto& posted = static_cast<Posted&>(*waiting.pop_front());
            const na::Op& op = *posted.op;
            port_->show_delayed(*peer_, op);
            const auto kind = op.kind == na::OpKind::send_unexpected ? MessageKind::unexpected : MessageKind::expected;
            MessageHeader{kind, receives.give_back(), 0, op.tag}.encode(std::span<std::byte, message_header_bytes>(
                op.message->payload - message_header_bytes, message_header_bytes));
            const std::size_t bytes = message_header_bytes + op.message_bytes;
            const bool inlined = bytes <= inline_max_;
            ibv_send_wr& request = batch.next(SendBuffers::piece(*op.message, bytes), inlined);
            posted.stage = na::OpStage::sending;
            sends.take();
            enter(request, {inlined ? nullptr : &posted, true});
            if (inlined) batch.copied[batch.count - 1] = &posted;
            batch.wants_signal |= !inlined;
        }
        more = batch.count == batch_max;
        if (receives.must_tell() && fits()) {
            batch.credit = header_bytes(MessageKind::credit, receives.give_back(), 0);
            enter(batch.next(piece_of(batch.credit), true), {nullptr, true});
        }
        if (!post(batch)) return;
    }
    peer_->delayed = !waiting.empty();
    const bool left = receives.must_tell() || (!waiting.empty() && sends.any());
    if (left && !port_->room().any()) port_->room().wait(*this);
}

// Posts the next put, get or atomic. False: there is none, or it must wait.
bool Session::send_rma() noexcept {
    auto* const posted = static_cast<Posted*>(peer_->rma.front());
    if (!posted || rma_out_ == rma_out_max || sent_.room() < op_requests_max) return false;
    const auto wait = [this] { return port_->room().wait(*this), false; };
    if (!port_->room().any()) return wait();
    const na::Op& op = *posted->op;
    const DeviceTraits& traits = port_->device().traits();
    WorkRequests work;
    std::array<ibv_sge, op_pieces_max> pieces;
    std::size_t count = 0;
    if (!na::is_atomic(op.kind))
        count = static_cast<const VerbsMemory&>(*op.local).pieces(op.local_offset, op.bytes, pieces);
    const std::uint32_t reads = reads_of(op, posted->remote, std::span(pieces).first(count), traits);
    if (reads > 0 && sent_.reads_out() > 0 && sent_.reads_out() + reads > read_depth_) return false;
    if (takes_credit(op) && !sends.any()) return false;
    HeaderBytes notification{};
    if (na::is_atomic(op.kind)) {
        if (!port_->cells().take(posted->cell)) return wait();
        build_atomic(op, posted->remote, port_->cells().piece(posted->cell), work);
    } else {
        const bool tells = op.kind == na::OpKind::put_notify && traits.iwarp;
        if (tells) notification = header_bytes(MessageKind::notify, receives.give_back(), op.notify);
        build_rma(op, posted->remote, std::span(pieces).first(count),
                  {piece_of(notification), port_->cells().bin(), greeting_.beacon_address()}, traits, work);
    }
    if (takes_credit(op)) sends.take();
    peer_->rma.remove(*posted);
    posted->stage = na::OpStage::sending;
    ++rma_out_;
    for (std::uint32_t i = 0; i < work.count; ++i) {
        const ibv_wr_opcode opcode = work.requests[i].opcode;
        const bool reads_there = opcode == IBV_WR_RDMA_READ || na::is_atomic(op.kind);
        enter(work.requests[i], {posted, i + 1 == work.count, reads_there});
    }
    work.requests[work.count - 1].send_flags |= IBV_SEND_SIGNALED;
    sent_.signalled();
    return post(work.requests.data());
}

void Session::completed(std::uint32_t place, ibv_wc_status status) noexcept {
    bool answered = false;  // by the other side: the own device binds windows
    const auto end = [&](const Sent& sent, ibv_wc_status how) {
        answered |= sent.lent == nullptr;
        ended(sent, how);
    };
    if (!sent_.completed(place, status, end)) return;
    if (status != IBV_WC_SUCCESS) {
        if (stage_ == Stage::open) {
            static constinit LogLimit lines;
            const bool own_fault = status == IBV_WC_MW_BIND_ERR;
            log_limited(lines, own_fault ? LogLevel::warning : LogLevel::debug, "verbs",
                        "a work request failed, its session ends: %s%s", rdma().wc_status_str(status),
                        own_fault ? "; open the address without ?windows=yes if the device cannot bind windows" : "");
            port_->lost(*this, session_error(status));
        }
        return;
    }
    const TimeUs now = port_->host().now_us();
    if (answered) alive_at = now;
    sign_of_life_.told(now, !sent_.pending());
    if (stage_ != Stage::open) return;
    if (!(peer_->messages.empty() && peer_->rma.empty()) || receives.must_tell()) port_->output().add(*this);
}

void Session::ended(const Sent& sent, ibv_wc_status status) noexcept {
    port_->room().give([this](Session& waiter) noexcept { port_->output().add(waiter); });
    if (sent.lent) {
        if (na::Lease* const over = port_->transport().bindings().completed(*sent.lent))
            port_->transport().end_revocation(*over, *port_);
    }
    if (!sent.posted) return;
    Posted& posted = *sent.posted;
    if (status != IBV_WC_SUCCESS && posted.result == Errc::ok) {
        posted.result = status == IBV_WC_WR_FLUSH_ERR ? end_why_ : operation_error(status);
    }
    if (!sent.last) return;
    if (!na::is_message(posted.op->kind)) --rma_out_;
    if (na::is_atomic(posted.op->kind)) posted.op->fetched = port_->cells().give_back(posted.cell);
    port_->end(posted, posted.result);
}

bool Session::probe(TimeUs since, TimeUs patience) noexcept {
    const TimeUs now = port_->host().now_us();
    if (sign_of_life_.overdue(now, patience)) return false;
    if (sent_.pending()) return sign_of_life_.expect(now), true;
    if (alive_at >= since || sent_.room() == 0 || !port_->room().any()) return true;
    ibv_sge bin = port_->cells().bin();
    ibv_send_wr request;
    build_probe(bin, greeting_.beacon_address(), request);
    Sent sent;
    sent.read = true;
    enter(request, sent).send_flags = IBV_SEND_SIGNALED;
    sent_.signalled();
    sign_of_life_.expect(now);
    (void)post(&request);  // on failure the session ends
    return true;
}

}  // namespace cinnabar::verbs
