// SPDX-License-Identifier: BSD-3-Clause
// Session: how it is made and closed.
#include "session.hpp"

#include "completion.hpp"
#include "port.hpp"
#include "process_ports.hpp"
#include "queue_pair.hpp"
#include "rdma_library.hpp"
#include "system_errors.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

namespace cinnabar::verbs {
namespace {

constexpr TimeUs drain_us_max = 500'000;
// Longer than the kernel waits on iWARP for the answer to a request.
constexpr TimeUs unanswered_us_max = 60'000'000;

// How often a device retries a message that finds no receive slot: 7 means without end. Each credit has a posted slot,
// but some devices report "not ready" for a moment while they fetch posted slots, and a misbehaving peer may use the
// slots of others. Session::probe ends a session whose messages are retried for too long.
constexpr std::uint8_t not_ready_retries = 7;
constexpr std::uint8_t retries = 7;

rdma_conn_param parameters(const std::array<std::byte, greeting_bytes>& greeting, std::uint32_t reads_in,
                           std::uint32_t reads_out) noexcept {
    rdma_conn_param parameters{};
    parameters.private_data = greeting.data();
    parameters.private_data_len = static_cast<std::uint8_t>(greeting.size());
    parameters.responder_resources = static_cast<std::uint8_t>(reads_in);
    parameters.initiator_depth = static_cast<std::uint8_t>(reads_out);
    parameters.flow_control = 1;
    parameters.retry_count = retries;
    parameters.rnr_retry_count = not_ready_retries;
    return parameters;
}

// Logs the hint, because a failed dial reports only a code. Throws bad_alloc.
Errc refused_by_system(int os_errno) {
    const Error why = connection_error(os_errno);
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "verbs", "%s", why.message().c_str());
    return why.code;
}

}  // namespace

void Session::start(VerbsPort& port) noexcept {
    CINNABAR_ASSERT(stage_ == Stage::closed);
    port_ = &port;
    peer_ = nullptr;
    dialled_ = unanswered_ = false;
    end_why_ = Errc::peer_lost;
    rma_out_ = 0;
    sign_of_life_.open();
    failed_at_ = takes_in;
    broken.store(Errc::ok, std::memory_order_relaxed);
    timer_.bind<&Session::time_out>(*this);
}

void Session::dial(VerbsPort& port, VerbsPeer& peer) noexcept {
    start(port);
    peer_ = &peer;
    dialled_ = true;
    targets_.begin(peer.targets.known, peer.targets.names);
    target_ = {};
    // host().now_us() may be as old as the context's last round, so the clock is read.
    dial_until_ = after(steady_clock().now_us(), port.options().connect_timeout);
    dial_next(Errc::unreachable);
}

// Dials the next address. If none is left, the dial fails with `why`.
void Session::dial_next(Errc why) noexcept {
    for (;;) {
        port_->host().disarm(timer_);
        destroy_queue_pair();
        id_.reset();
        unanswered_ = false;
        const TimeUs now = steady_clock().now_us();
        if (targets_.begun() && now >= dial_until_) return port_->dial_failed(*this, why);
        const Errc next = targets_.next(port_->host(), why, target_);
        if (next == Errc::again) {
            stage_ = Stage::resolving_address;
            return port_->host().arm(timer_, dial_until_);
        }
        if (next != Errc::ok) return port_->dial_failed(*this, next);
        const std::size_t targets_left = targets_.left() + 1;
        port_->host().arm(timer_, now + share_of(dial_until_ - std::min(now, dial_until_), targets_left));
        rdma_cm_id* id = nullptr;
        if (rdma().create_id(port_->manager().channel(), &id, this, RDMA_PS_TCP) != 0) {
            const int failed = errno;
            if (!port_->with_memory([&] { why = refused_by_system(failed); })) why = Errc::out_of_memory;
            continue;
        }
        id_.reset(id);
        SocketAddress source = port_->device().address();
        source.set_port(0);
        stage_ = Stage::resolving_address;
        if (rdma().resolve_addr(id, plain(source), plain(target_), time_left_ms()) == 0) return;
        why = Errc::unreachable;
    }
}

void Session::names_answered(void* self, Errc why) noexcept {
    auto& session = *static_cast<Session*>(self);
    VerbsPort& port = *session.port_;
    session.dial_next(why);
    (void)port.settle();
}

void Session::time_out() noexcept {
    VerbsPort& port = *port_;
    if (stage_ == Stage::accepted) {
        port.discard(*this, Errc::peer_lost);
    } else {
        target_is_silent();
    }
    (void)port.settle();
}

void Session::target_is_silent() noexcept {
    const Errc why = stage_ == Stage::dialling ? Errc::timed_out : Errc::unreachable;
    if (!unanswered_ || !port_->device().traits().iwarp) return dial_next(why);
    // The dial to this address cannot be given up before it is answered, so it gets all the remaining time.
    if (steady_clock().now_us() >= dial_until_) return port_->dial_failed(*this, why);
    port_->host().arm(timer_, dial_until_);
}

// The remaining time for the present address.
int Session::time_left_ms() const noexcept {
    const TimeUs now = steady_clock().now_us();
    const TimeUs left_ms = (timer_.expires - std::min(now, timer_.expires)) / 1000;
    return static_cast<int>(std::clamp<TimeUs>(left_ms, 1, std::numeric_limits<int>::max()));
}

void Session::on_cm_event(const CmEvent& event) noexcept {
    unanswered_ = false;
    const CmStep step = step_of(stage_, event.type, event.status);
    switch (step.action) {
        case CmAction::ignore:
            return;
        case CmAction::resolve_route: {
            stage_ = Stage::resolving_route;
            const bool own_device = id_->verbs == port_->device().context();
            if (!own_device || rdma().resolve_route(id_.get(), time_left_ms()) != 0) dial_next(Errc::unreachable);
            return;
        }
        case CmAction::request:
            stage_ = Stage::dialling;
            if (const Errc wrong = request(); wrong != Errc::ok) dial_next(wrong);
            return;
        case CmAction::established:
            if (dialled_) return answered(event);
            set_read_depth(read_depth_);
            return port_->accept_done(*this);
        case CmAction::rejected: {
            Greeting answer;
            const bool theirs = Greeting::decode(event.private_data(), answer) == Errc::ok;
            if (!theirs || answer.hello.kind != na::HelloKind::reject) return dial_next(step.why);
            greeting_ = answer;
            return port_->dial_done(*this);
        }
        case CmAction::failed:
            return dial_next(step.why);
        case CmAction::lost:
            // The connection manager may report the end before the completions of earlier work have been read.
            port_->arrivals().poll_all();
            return port_->lost(*this, step.why);
    }
}

void Session::answered(const CmEvent& event) noexcept {
    if (const Errc wrong = Greeting::decode(event.private_data(), greeting_); wrong != Errc::ok)
        return dial_next(wrong);
    set_read_depth(event.reads_out);
    port_->dial_done(*this);
}

// `answered`: reads at a time that the other side answers; 0 on a fabric that does not negotiate it.
void Session::set_read_depth(std::uint32_t answered) noexcept {
    read_depth_ = std::clamp(answered, 1u, port_->device().traits().read_depth_max);
}

Errc Session::make_queue_pair() noexcept {
    Errc why = Errc::out_of_memory;
    (void)port_->with_memory([&] { why = try_queue_pair(); });
    return why;
}

// If it throws bad_alloc, destroy_queue_pair() undoes what was done.
Errc Session::try_queue_pair() {
    window_ = port_->slots().window_for_next();
    if (const Errc full = port_->slots().promise(window_ + control_slots); full != Errc::ok) return full;
    promised_ = window_ + control_slots;
    held.reserve(promised_);
    receives.open(window_);
    QueuePairSize size;
    if (verbs::make_queue_pair(*id_, port_->device(), port_->arrivals().queue().get(), port_->slots().queue(), size)) {
        inline_max_ = size.inline_bytes_max;
        queue_pair_ = id_->qp->qp_num;
        sent_.open(size.depth);
        port_->arrivals().add(*this);
        ProcessQueuePairs::get().add(id_->qp, *this);
        limit_retries(*id_, port_->options().keepalive);
        return Errc::ok;
    }
    // The sender has given up its request, so no queue pair can be made for it.
    if (stage_ == Stage::accepted && errno == EINVAL) return Errc::peer_lost;
    return refused_by_system(errno);
}

// Fills in the window and the beacon that the other side may use.
void Session::announce(Greeting& own) const noexcept {
    const Pinned& word = port_->cells().beacon();
    own.window = static_cast<std::uint16_t>(window_);
    own.beacon = reinterpret_cast<std::uintptr_t>(word.bytes().data());
    own.beacon_key = word.rkey();
}

Errc Session::request() noexcept {
    if (const Errc wrong = make_queue_pair(); wrong != Errc::ok) return wrong;
    Greeting own;
    own.hello = port_->hello(na::HelloKind::dial, peer_->wanted());
    announce(own);
    const auto bytes = own.encode();
    const std::uint32_t reads = port_->device().traits().read_depth_max;
    rdma_conn_param wanted = parameters(bytes, reads, reads);
    if (rdma().connect(id_.get(), &wanted) == 0) {
        unanswered_ = true;
        return Errc::ok;
    }
    // Some devices connect inside the call, so errno may say why the other side cannot be reached.
    return connect_error(-errno, Errc::unreachable);
}

bool Session::accept(VerbsPort& port, Incoming& incoming) noexcept {
    start(port);
    id_ = std::move(incoming.id);
    id_->context = this;
    greeting_ = incoming.greeting;
    stage_ = Stage::accepted;
    const std::uint32_t most = port.device().traits().read_depth_max;
    read_depth_ = std::min<std::uint32_t>(most, incoming.read_depth);
    if (make_queue_pair() == Errc::ok) {
        Greeting own;
        own.hello = port.hello(na::HelloKind::accept, na::sender_of(greeting_.hello));
        announce(own);
        const auto bytes = own.encode();
        rdma_conn_param wanted = parameters(bytes, std::min<std::uint32_t>(most, incoming.reads_asked), read_depth_);
        if (rdma().accept(id_.get(), &wanted) == 0) {
            port.host().arm(timer_, after(steady_clock().now_us(), port.options().hello_timeout));
            return true;
        }
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::debug, "verbs", "a request cannot be answered: errno %d", errno);
    }
    destroy_queue_pair();
    id_->context = nullptr;
    incoming.id = std::move(id_);
    close(Errc::canceled);
    return false;
}

void Session::open(VerbsPeer& peer) noexcept {
    CINNABAR_ASSERT(stage_ == Stage::dialling || stage_ == Stage::accepted);
    port_->host().disarm(timer_);
    stage_ = Stage::open;
    peer_ = &peer;
    sends.open(greeting_.window);
    alive_at = port_->host().now_us();
}

void Session::drain(Errc why) noexcept {
    end_why_ = why;
    stage_ = Stage::draining;
    peer_ = nullptr;
    port_->transport().bindings().stop(bound_);
    fail_queue_pair(*id_->qp);
    failed_at_ = port_->arrivals().times_emptied();
    (void)rdma().disconnect(id_.get());
    drained_by = port_->host().now_us() + drain_us_max;
}

void Session::give_slots_back() noexcept {
    if (port_->arrivals().times_emptied() <= failed_at_ || promised_ == 0) return;
    port_->slots().withdraw(std::exchange(promised_, 0u));
}

bool Session::leave_unanswered() noexcept {
    if (!unanswered_ || stage_ != Stage::dialling || !port_->device().traits().iwarp) return false;
    port_->host().disarm(timer_);
    stage_ = Stage::draining;
    peer_ = nullptr;
    drained_by = port_->host().now_us() + unanswered_us_max;
    return true;
}

void Session::destroy_queue_pair() noexcept {
    if (id_ && id_->qp) {
        ProcessQueuePairs::get().remove(id_->qp);  // another queue pair may get the same address afterwards
        // mlx5 and others drop the completions of a queue pair when it is destroyed, and the numbers of receive slots
        // with them. So the queue pair is first set to the error state, and all completions are copied. siw drops none,
        // and its queue pairs must not be set to the error state while they connect.
        if (stage_ != Stage::draining && !port_->device().traits().iwarp) fail_queue_pair(*id_->qp);
        port_->transport().bindings().release(bound_);
        port_->arrivals().queue().fetch_all();
        rdma().destroy_qp(id_.get());
        port_->arrivals().remove(*this);
        ++life_;
    }
    if (promised_ > 0) port_->slots().withdraw(std::exchange(promised_, 0u));
}

void Session::close(Errc why) noexcept {
    end_why_ = why;
    targets_.abandon();
    port_->host().disarm(timer_);
    if (stage_ == Stage::open) (void)rdma().disconnect(id_.get());
    destroy_queue_pair();
    sent_.flush([this](const Sent& sent, ibv_wc_status status) { ended(sent, status); });
    id_.reset();
    for (const ibv_wc& done : held) port_->slots().free(WorkId(done.wr_id).slot());
    held.clear();
    peer_ = nullptr;
    stage_ = Stage::closed;
}

SocketAddress Session::remote_address() const noexcept { return SocketAddress(::rdma_get_peer_addr(id_.get())); }

}  // namespace cinnabar::verbs
