// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <sys/epoll.h>

namespace cinnabar::ofi {
namespace {

// How long a provider may take to give back what it has of a session that is over.
constexpr TimeUs drain_us = 2'000'000;

}  // namespace

Session::Session() noexcept {
    timer_.owner = this;
    timer_.fire = &Session::time_out;
}

void Session::reserve(OfiPort& port) noexcept {
    CINNABAR_ASSERT(!peer_ && with_fabric_ == 0);
    port_ = &port;
    check_ = secret_u64();
    open_ = false;
    draining_ = false;
    stalled = false;
    unconfirmed_ = injected_ = 0;
    closed_ = false;
}

void Session::end_reserved() noexcept {
    CINNABAR_ASSERT(!peer_);
    port_->sessions().release(*this);
}

Errc Session::begin(OfiPeer& peer, UniqueFd fd, const Card& card, bool dialled) noexcept {
    CINNABAR_ASSERT(!peer_);
    peer_ = &peer;
    hello_ = card.hello;
    remote_ = card.session;
    dialled_ = dialled;
    fd_ = std::move(fd);
    na::tune(fd_.get(), port_->options().keepalive);
    port_->connecting(1);
    port_->host().arm(timer_, after(steady_clock().now_us(), port_->options().connect_timeout));
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    if (::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) {
        fd_.reset();
        return Errc::overloaded;
    }
    const Errc why = port_->endpoint().insert({card.address.data(), card.address_bytes}, address_);
    if (why == Errc::ok && dialled) note(Frame{FrameKind::probe}, {});
    return why;
}

void Session::end(Errc why) noexcept {
    CINNABAR_ASSERT(peer_);
    port_->unlist(*this);
    port_->host().disarm(timer_);
    if (!open_) port_->connecting(-1);
    if (fd_) (void)::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_DEL, fd_.get(), nullptr);
    fd_.reset();
    draining_ = true;
    // Nobody waits for buffers any more: their ops end now, whenever the fabric gives them back.
    for (Buffer* buffer = sending_.front(); buffer; buffer = BufferList::next(*buffer)) {
        Posted* posted = std::exchange(buffer->posted, nullptr);
        if (!posted) continue;
        buffer->holders.store(2, std::memory_order_release);
        port_->end(*posted, why);
    }
    while (Buffer* buffer = notes_.pop_front()) port_->notes().give(*buffer);
    notes_count_ = 0;
    while (Owed* owed = owing_.front()) release(*owed);
    for (Transfer* transfer = transfers_.front(); transfer;) {
        Transfer& now = *std::exchange(transfer, Transfers::next(*transfer));
        stop(now, why);
    }
    peer_ = nullptr;
    ++with_fabric_;  // not before all of the above
    port_->host().arm(timer_, port_->host().now_us() + drain_us);
    given_back();
}

bool Session::live() const noexcept { return peer_ && !peer_->ending; }

void Session::forfeit(Errc why) noexcept {
    log(LogLevel::info, "ofi: %s holds the most of what all share, and does not go on: %s",
        peer_->addr().log_name().c_str(), std::string(to_string(why)).c_str());
    fail(why);
    while (Buffer* buffer = notes_.pop_front()) port_->notes().give(*buffer);
    notes_count_ = 0;
    while (Owed* owed = owing_.front()) release(*owed);
}

// One thing less is with the fabric.
void Session::given_back() noexcept {
    CINNABAR_ASSERT(with_fabric_ > 0);
    if (--with_fabric_ > 0 || !draining_) return;
    CINNABAR_ASSERT(transfers_.empty());
    draining_ = false;
    port_->host().disarm(timer_);
    if (address_ != FI_ADDR_UNSPEC) port_->endpoint().remove(std::exchange(address_, FI_ADDR_UNSPEC));
    port_->sessions().release(*this);
}

// The port closes: the fabric has forgotten everything.
void Session::abandon() noexcept {
    if (!port_) return;
    port_->host().disarm(timer_);
    if (fd_) (void)::epoll_ctl(port_->host().epoll_fd(), EPOLL_CTL_DEL, fd_.get(), nullptr);
    fd_.reset();
    const bool taken = peer_ || draining_;
    peer_ = nullptr;
    port_->unlist(*this);
    while (Buffer* buffer = notes_.pop_front()) port_->notes().give(*buffer);
    notes_count_ = 0;
    while (Buffer* buffer = sending_.pop_front()) {
        if (buffer->note) {
            port_->notes().give(*buffer);
        } else if (Posted* posted = std::exchange(buffer->posted, nullptr)) {
            port_->end(*posted, Errc::canceled);
        } else {
            port_->messages().give(*buffer);
        }
    }
    while (Owed* owed = owing_.front()) release(*owed);
    while (Chunk* chunk = stray_.pop_front()) give_chunk(*chunk);
    while (Transfer* transfer = transfers_.front()) {
        while (Chunk* chunk = transfer->with_fabric.pop_front()) give_chunk(*chunk);
        transfer->touching = 0;
        answered(*transfer);
        if (transfer->failed == Errc::ok) transfer->failed = Errc::canceled;
        settle(*transfer);
    }
    with_fabric_ = 0;
    draining_ = false;
    open_ = false;
    if (taken) port_->sessions().release(*this);
}

void Session::on_ready(std::uint32_t) noexcept {
    if (!peer_) return;
    std::byte nothing{};
    const na::Moved moved = na::receive_some(fd_.get(), &nothing, 1);
    // After the greetings nobody says anything here.
    if (moved.why != Errc::again) fail(moved.why == Errc::ok ? Errc::protocol : Errc::peer_lost);
    (void)port_->settle();
}

void Session::fail(Errc why) noexcept {
    if (peer_) port_->end_session(*peer_, why);
}

// What becomes of what the fabric has not carried. The provider has many words for a connection that is gone, which the
// loss of the peer tells; of what is no such thing it says more than a code does, and the session ends with the first.
Errc Session::reason(const Done& done) const noexcept {
    switch (done.result) {
        case Errc::ok:
            return Errc::ok;
        case Errc::refused:
        case Errc::unreachable:
        case Errc::timed_out:
            return open_ ? Errc::peer_lost : done.result;
        case Errc::canceled:
        case Errc::peer_lost:
            return Errc::peer_lost;
        default:
            break;
    }
    if (peer_ && !peer_->ending) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, "ofi: %s has not carried something to %s: %s (%s)",
                    port_->provider().name, peer_->addr().log_name().c_str(),
                    std::string(to_string(done.result)).c_str(), done.words ? done.words : "");
    }
    return done.result;
}

void Session::time_out(Timer& timer) noexcept {
    Session& self = TimerOf<Session>::owner_of(timer);
    OfiPort& port = *self.port_;
    if (self.draining_) {
        self.force_ends();
    } else if (!self.open_) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning,
                    "ofi: the sockets met, but %s carries nothing to %s: see its fabric address", port.provider().name,
                    self.peer_->addr().log_name().c_str());
        self.fail(Errc::unreachable);
    }
    (void)port.settle();
}

void Session::probed(const Frame& frame) noexcept {
    if (frame.kind == FrameKind::probe && !dialled_) note(Frame{FrameKind::answer}, {});
    if (open_) return;
    open_ = true;
    port_->connecting(-1);
    port_->host().disarm(timer_);
    port_->session_open(*this, hello_);
}

void Session::take_in(const Frame& frame, const TransferBody& body, ConstBytes payload, na::Arrival& arrival) noexcept {
    if (peer_->ending) return;
    if (frame.kind == FrameKind::probe || frame.kind == FrameKind::answer) return probed(frame);
    if (!open_) return fail(Errc::protocol);
    switch (frame.kind) {
        case FrameKind::unexpected:
            return port_->host().receiver().on_unexpected(arrival);
        case FrameKind::expected:
            return port_->host().receiver().on_expected(arrival);
        case FrameKind::get:
            return get_asked(frame, body);
        case FrameKind::get_data:
            return get_data_came(frame, payload);
        case FrameKind::get_ended:
            return get_ended(frame, body);
        case FrameKind::put:
            return put_asked(frame, body, payload);
        case FrameKind::put_go:
            return put_granted(frame, body);
        case FrameKind::put_done:
            return put_ended(frame);
        case FrameKind::stop:
            return stop_asked(frame, body);
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
            return atomic_asked(frame, body);
        case FrameKind::atomic_done:
            return atomic_ended(frame, body);
        case FrameKind::probe:
        case FrameKind::answer:
            return;
    }
}

Chunk* Session::take_chunk() noexcept {
    Chunk* chunk = port_->chunks().acquire();
    if (!chunk) return nullptr;
    chunk->session = this;
    chunk->transfer = nullptr;
    chunk->owed = nullptr;
    chunk->discard = false;
    chunk->served = false;
    chunk->sends = false;
    chunk->revoked = false;
    chunk->done = [](FabricOp& op, const Done& done) noexcept {
        auto& self = static_cast<Chunk&>(op);
        self.session->chunk_ended(self, done);
    };
    return chunk;
}

// False: memory is short.
bool Session::stage(Chunk& chunk) noexcept {
    chunk.staging = port_->take_staging(chunk.served);
    return chunk.staging != nullptr;
}

void Session::unstage(Chunk& chunk) noexcept {
    if (chunk.staging) port_->give_staging(*std::exchange(chunk.staging, nullptr));
}

void Session::give_chunk(Chunk& chunk) noexcept {
    unstage(chunk);
    chunk.pin.reset();
    if (chunk.served) --served_;
    if (chunk.sends) port_->sends(-1);
    if (chunk.sends && !chunk.served) --put_chunks_;
    port_->chunks().release(chunk);
}

void Session::chunk_posted(Chunk& chunk) noexcept {
    ++with_fabric_;
    if (chunk.transfer) {
        chunk.transfer->with_fabric.push_back(chunk);
    } else if (chunk.owed) {
        chunk.owed->with_fabric.push_back(chunk);
    } else {
        stray_.push_back(chunk);
    }
}

void Session::chunk_sent(Chunk& chunk) noexcept {
    chunk.sends = true;
    port_->sends(1);
}

void Session::chunk_ended(Chunk& chunk, const Done& given) noexcept {
    Done done = given;
    // What nobody here has asked back was on a connection of the provider's that broke.
    if (done.result == Errc::canceled && !chunk.revoked) done.result = Errc::peer_lost;
    if (chunk.transfer) {
        transfer_chunk_ended(chunk, done);
    } else if (chunk.owed) {
        owed_chunk_ended(chunk, done);
    } else {
        stray_.remove(chunk);
        give_chunk(chunk);
        if (done.result != Errc::ok && done.result != Errc::canceled) fail(reason(done));
    }
    if (!(to_serve_.empty() && to_post_.empty()) && peer_) port_->dirty(*this);
    given_back();
}

// A provider has not given back what it was asked to: the operations end all the same.
void Session::force_ends() noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::info, "ofi: %s keeps %u operations of a session that is over", port_->provider().name,
                with_fabric_);
    for (Transfer* transfer = transfers_.front(); transfer; transfer = Transfers::next(*transfer)) {
        if (transfer->posted) end_op(*transfer);
    }
}

}  // namespace cinnabar::ofi
