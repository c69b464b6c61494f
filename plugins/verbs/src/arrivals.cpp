// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.hpp"

#include "completion.hpp"
#include "port.hpp"
#include "rdma_library.hpp"

#include <cinnabar/base/log.hpp>

#include <arpa/inet.h>

#include <array>

namespace cinnabar::verbs {
namespace {

constexpr std::size_t batch = 32;
constexpr unsigned batches_max = 8;  // per poll
constexpr unsigned polls_max = 64;   // of poll_all

}  // namespace

Arrivals::Arrivals(VerbsPort& port) noexcept : port_(port), queue_(port.host()) {}

void Arrivals::add(Session& session) { by_queue_pair_[session.queue_pair()] = &session; }

void Arrivals::remove(Session& session) noexcept {
    by_queue_pair_.erase(session.queue_pair());
    queue_.forget(session.queue_pair());
}

unsigned Arrivals::poll() noexcept {
    unsigned did = 0;
    for (unsigned i = 0; i < batches_max; ++i) {
        std::array<ibv_wc, batch> done;
        const std::size_t count = queue_.poll(done);
        for (std::size_t k = 0; k < count; ++k) {
            const WorkId id(done[k].wr_id);
            if (id.is_receive()) {
                port_.slots().taken(id.slot());
                received(done[k]);
                continue;
            }
            Session* session = port_.sessions().at(id.session());
            if (session && session->stage() != Stage::closed && session->life() == id.life()) {
                session->completed(id.place(), done[k].status);
            }
        }
        did += static_cast<unsigned>(count);
        if (count == batch) continue;
        ++times_emptied_;
        break;
    }
    return did;
}

void Arrivals::poll_all() noexcept {
    const std::uint64_t before = times_emptied_;
    for (unsigned i = 0; i < polls_max && times_emptied_ == before; ++i) (void)poll();
}

void Arrivals::received(const ibv_wc& done) noexcept {
    const std::uint32_t slot = WorkId(done.wr_id).slot();
    const auto at = by_queue_pair_.find(done.qp_num);
    Session* session = at == by_queue_pair_.end() ? nullptr : at->second;
    if (!session || session->stage() == Stage::draining) return port_.slots().free(slot);
    if (done.status != IBV_WC_SUCCESS) {
        port_.slots().free(slot);
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::debug, "verbs", "a receive failed, its session ends: %s",
                    rdma().wc_status_str(done.status));
        return port_.lost(*session, session_error(done.status));
    }
    if (session->stage() == Stage::open) return deliver(*session, done);
    // The message arrived before the session began. If this side has accepted, the message shows that the peer has
    // received the answer.
    if (session->held.size() >= session->promised()) {  // more than its window
        port_.slots().free(slot);
        return port_.lost(*session, Errc::protocol);
    }
    session->held.push_back(done);
    if (session->stage() == Stage::accepted) port_.accept_done(*session);
}

void Arrivals::deliver(Session& session, const ibv_wc& done) noexcept {
    const std::uint32_t slot = WorkId(done.wr_id).slot();
    VerbsPeer& peer = *session.peer();
    if (peer.ending()) return port_.slots().free(slot);
    session.alive_at = port_.host().now_us();
    MessageHeader header;
    const ConstBytes bytes(port_.slots().bytes(slot), done.byte_len);
    const bool immediate = (done.wc_flags & IBV_WC_WITH_IMM) != 0;
    if (immediate) {
        header.kind = MessageKind::notify;
        header.value = ntohl(done.imm_data);
    } else if (!MessageHeader::decode(bytes, header)) {
        port_.slots().free(slot);
        return port_.lost(session, Errc::protocol);
    }
    const bool told_nothing = header.kind == MessageKind::credit && header.credits == 0;
    const bool paid = header.kind == MessageKind::credit || session.receives.came();
    if (told_nothing || !paid || !session.sends.give_back(header.credits)) {
        port_.slots().free(slot);
        return port_.lost(session, Errc::protocol);
    }
    if (header.credits > 0 && !(peer.messages.empty() && peer.rma.empty())) port_.output().add(session);
    if (header.kind == MessageKind::credit) return port_.slots().free(slot);
    session.receives.posted_again();
    if (session.receives.must_tell()) port_.output().add(session);
    if (header.kind == MessageKind::notify) {
        port_.slots().free(slot);
        return port_.host().receiver().on_notify(peer, header.value);
    }
    na::Arrival arrival{bytes.subspan(message_header_bytes), &peer, header.tag, &port_, nullptr, slot};
    in_hand_ = true;
    port_.host().receiver().on_message(header.kind == MessageKind::expected, arrival);
    if (std::exchange(in_hand_, false)) port_.slots().free(slot);
}

Errc Arrivals::keep(na::Arrival& arrival, na::Kept& out) noexcept {
    CINNABAR_ASSERT(in_hand_);
    if (const Errc full = port_.slots().keep(); full != Errc::ok) return full;
    in_hand_ = false;
    out = na::Kept{arrival.bytes, &port_, nullptr, arrival.index, false};
    return Errc::ok;
}

}  // namespace cinnabar::verbs
