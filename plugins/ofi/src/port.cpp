// SPDX-License-Identifier: BSD-3-Clause
// Progress: what the provider brings, who sends, and what was put off until the stack had unwound.
#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/places.hpp>
#include <cinnabar/na/session/sessions.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <new>

namespace cinnabar::ofi {
namespace {

// Over all peers: own operations that peers know of, what is owed to peers, and messages of transfers on the fabric.
constexpr std::uint32_t transfers_max = 16 * 1024;
constexpr std::uint32_t owed_slots_max = 64 * 1024;
constexpr std::uint32_t chunks_slots_max = 256 * 1024;
constexpr std::uint32_t staging_max = 2048;  // on each side; holds the largest operation several times
static_assert(staging_max > 2 * chunks_max);
constexpr std::uint32_t notes_max = 64 * 1024;
constexpr unsigned completions_max = 256;  // that one round hands out
// A provider goes on with connections, and with what it had no room for, only when it is asked.
constexpr TimeUs tick_us = 500;
// Without a descriptor: how long a context looks without a pause after something came, and the pauses then.
constexpr TimeUs watchful_us = 20'000;
constexpr TimeUs pause_us = 1000;

std::size_t largest_frame(const na::TransportOptions& options) noexcept {
    return frame_header_bytes + transfer_body_bytes +
           padded(std::max<std::size_t>(options.message_bytes_max, small_bytes_max));
}

}  // namespace

bool QueueWatch::watch(int fd) noexcept {
    if (fd < 0) return true;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = static_cast<na::FdEvents*>(this);
    if (::epoll_ctl(port_.host().epoll_fd(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
    fd_ = fd;
    return true;
}

void QueueWatch::stop() noexcept {
    if (fd_ >= 0) (void)::epoll_ctl(port_.host().epoll_fd(), EPOLL_CTL_DEL, fd_, nullptr);
    fd_ = -1;
}

// Some providers leave their descriptor readable although there is nothing to do: watched for changes only, it lets
// the context sleep.
void QueueWatch::on_ready(std::uint32_t) noexcept {
    constexpr TimeUs patience_us = 5000;
    if (fd_ < 0) return;
    const TimeUs now = port_.host().now_us();
    if (port_.poll_endpoint() > 0) {
        fruitless_since_ = 0;
    } else if (fruitless_since_ == 0) {
        fruitless_since_ = now;
    } else if (!by_edges_ && now - fruitless_since_ > patience_us) {
        by_edges_ = true;
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;
        event.data.ptr = static_cast<na::FdEvents*>(this);
        (void)::epoll_ctl(port_.host().epoll_fd(), EPOLL_CTL_MOD, fd_, &event);
    }
    (void)port_.settle();
}

OfiPort::OfiPort(OfiTransport& transport, na::PortHost& host, std::unique_ptr<Endpoint> endpoint)
    : transport_(transport),
      host_(host),
      endpoint_(std::move(endpoint)),
      messages_(host.threads(), transport.options().send_slots_max, transport.options().message_bytes_max,
                frame_header_bytes, false),
      notes_(Threads::one, notes_max, small_bytes_max, frame_header_bytes + transfer_body_bytes, true),
      blocks_(largest_frame(transport.options()), transport.options().receive_slots),
      receives_(*this, largest_frame(transport.options())),
      staging_(Threads::one, staging_max),
      served_staging_(Threads::one, staging_max),
      peers_(host),
      sessions_(Threads::one, transport.options().connections_max),
      dials_(Threads::one, transport.options().connections_max),
      transfers_(Threads::one, transfers_max),
      owed_(Threads::one, owed_slots_max),
      chunks_(Threads::one, chunks_slots_max),
      newcomers_(*this, host, "ofi"),
      watch_(*this) {
    tick_.owner = this;
    tick_.fire = [](Timer&) noexcept {};  // being awake is enough
}

Result<void> OfiPort::open() {
    if (const Errc why = receives_.open(*endpoint_); why != Errc::ok) {
        return Error(why, "the provider takes no receives", transport_.diagnosis());
    }
    if (!watch_.watch(endpoint_->wait_fd()) || !newcomers_.watch(transport_.listener())) {
        return Error(errc_from_errno(errno), "watching a descriptor of the fabric", {}, errno);
    }
    return {};
}

void OfiPort::close() noexcept {
    if (std::exchange(closed_, true)) return;
    transport_.port_closed(*this, host_.context_id());
    newcomers_.close();
    watch_.stop();
    host_.disarm(tick_);
    accepting_ = false;
    put_off_.close();  // no event and no new session from what follows
    // From here on the fabric touches nothing of what was posted, and gives nothing back.
    endpoint_->close();
    peers_.each([this](OfiPeer& peer) {
        drop_dial(peer);
        peer.session = nullptr;
        peer.set_idle();
        na::fail_waiting(*this, peer, Errc::canceled);
    });
    sessions_.for_each([](Session& session) { session.abandon(); });
    receives_.close();
    if (sink_) give_staging(*std::exchange(sink_, nullptr));
    for (SlotPool<Staging>* pool : {&staging_, &served_staging_}) {
        pool->for_each([](Staging& staging) { staging.memory.reset(); });
    }
    put_off_.complete_all(host_);
    messages_.unregister();
    notes_.unregister();
    endpoint_.reset();
}

OfiPort::~OfiPort() {
    close();
    peers_.remove_all();
}

Staging* OfiPort::take_staging(bool served) noexcept {
    SlotPool<Staging>& pool = served ? served_staging_ : staging_;
    Staging* staging = pool.acquire();
    if (!staging || staging->bytes) return staging;
    staging->pool = &pool;
    const std::size_t bytes = provider().chunk_bytes;
    staging->bytes.reset(new (std::nothrow) std::byte[bytes]);
    const Registrar& registrar = endpoint_->registrar();
    const bool known = staging->bytes && (!registrar.wants_local() ||
                                          registrar.local({staging->bytes.get(), bytes}, staging->memory) == Errc::ok);
    if (known) return staging;
    staging->bytes.reset();
    pool.release(*staging);
    return nullptr;
}

Staging* OfiPort::sink() noexcept {
    if (!sink_) sink_ = take_staging(false);
    return sink_;
}

void OfiPort::dirty(Session& session) noexcept {
    if (!Sessions::linked(session)) dirty_.push_back(session);
}

void OfiPort::stalled(Session& session) noexcept {
    unlist(session);
    session.stalled = true;
    stalled_.push_back(session);
}

void OfiPort::unlist(Session& session) noexcept {
    if (Sessions::linked(session)) (session.stalled ? stalled_ : dirty_).remove(session);
    session.stalled = false;
}

void OfiPort::transmit_all(bool with_stalled) noexcept {
    Sessions now;
    now.splice_back(dirty_);
    if (with_stalled) {
        for (Session* session = stalled_.front(); session; session = Sessions::next(*session)) session->stalled = false;
        now.splice_back(stalled_);
    }
    while (Session* session = now.pop_front()) session->transmit();
}

void OfiPort::frame_came(ConstBytes bytes, na::ReceiveBlock& block, fi_addr_t source) noexcept {
    Frame frame;
    TransferBody body;
    ConstBytes payload;
    const Errc wrong = decode(bytes, options().message_bytes_max, frame, body, payload);
    Session* session = wrong == Errc::ok ? sessions_.at(frame.session.index) : nullptr;
    if (!session || !session->is(frame.session)) {
        // Of a session that is over, or of nobody: whoever sent it is not known.
        transport_.count_stray();
        if (wrong != Errc::ok) {
            static constinit LogLimit lines;
            log_limited(lines, LogLevel::info, "ofi: bytes that make no sense came: dropped");
        }
        return;
    }
    // The card may name any address: nothing is sent there before it was heard of from there.
    if (frame.kind == FrameKind::probe && endpoint_->tells_source() && source != session->fabric_address()) {
        return log(LogLevel::info, "ofi: a probe came from another address than that of its session: dropped");
    }
    na::Arrival arrival{payload, &session->peer(), frame.id, this, &block, 0};
    session->take_in(frame, body, payload, arrival);
}

unsigned OfiPort::poll_endpoint() noexcept {
    const unsigned did = endpoint_->poll(completions_max);
    if (did > 0) {
        idle_rounds_ = 0;
        active_at_ = host_.now_us();
    } else if (idle_rounds_ < hot_rounds) {
        ++idle_rounds_;
    }
    return did;
}

unsigned OfiPort::poll() noexcept {
    unsigned did = 0;
    if (!inbox_.seems_empty()) {
        for (Caller& caller : inbox_.take_all()) came_in(std::move(caller)), ++did;
    }
    did += poll_endpoint();
    if (!receives_.complete()) (void)receives_.repost();
    if (!stalled_.empty() || !dirty_.empty()) transmit_all(true);
    did += settle();
    if (peers_.spares_changed()) peers_.forget_spares();
    if (transport_.fences().pending()) did += check_fences();
    keep_awake();
    return did;
}

unsigned OfiPort::check_fences() noexcept {
    WorkQueue ended;
    transport_.fences().check(ended, host_.now_us());
    unsigned did = 0;
    for (; Work* fenced = ended.pop_front(); ++did) host_.submit(*fenced);
    return did;
}

// Something goes on only when the provider is asked.
bool OfiPort::wants_asking() const noexcept {
    return !stalled_.empty() || connecting_ > 0 || !receives_.complete() || transport_.fences().pending();
}

// While the provider has to be asked by and by, nobody sleeps for long.
void OfiPort::keep_awake() noexcept {
    if (tick_.armed()) return;
    if (wants_asking()) {
        host_.arm(tick_, host_.now_us() + tick_us);
    } else if (endpoint_->wait_fd() < 0 && sessions_.taken() > 0) {
        host_.arm(tick_, host_.now_us() + pause_us);
    }
}

void OfiPort::flush() noexcept {
    if (!dirty_.empty()) transmit_all(false);
    (void)settle();
}

bool OfiPort::prepare_wait() noexcept {
    if (!dirty_.empty() || !put_off_.empty() || !inbox_.empty()) return false;
    // Since the last poll: a poster's flush, on `many`, finds no room as well.
    if (wants_asking() && !tick_.armed()) return false;
    if (endpoint_->wait_fd() >= 0) return endpoint_->may_sleep();
    return sessions_.taken() == 0 || host_.now_us() - active_at_ >= watchful_us;
}

unsigned OfiPort::settle() noexcept {
    return put_off_.settle(host_, [this](OfiPeer& peer, Errc why) { session_over(peer, why); });
}

Result<na::Peer*> OfiPort::peer(const na::Addr& addr) {
    return na::peer_of(peers_, addr, transport_,
                       [&](na::Places places) { return std::make_unique<OfiPeer>(*this, addr, std::move(places)); });
}

void OfiPort::unreferenced(na::Peer& peer) noexcept {
    auto& own = static_cast<OfiPeer&>(peer);
    if (!closed_ && !own.in_use()) peers_.spare(own);
}

}  // namespace cinnabar::ofi
