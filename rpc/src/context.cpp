// SPDX-License-Identifier: BSD-3-Clause
// Opening, driving and closing a context.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace {

// The maximum number of calls of a context: calls_max, but at most three quarters of each transport's send slots. The
// last quarter is left for answers: a peer that does not answer these calls may itself be waiting for an answer. The
// three quarters are rounded down to whole blocks, but to no less than one block, because pools grow by blocks.
std::uint32_t calls_of(const Engine& engine, const Options& wanted) noexcept {
    std::uint32_t most = std::min(wanted.calls_max, 1u << call_slot_bits);
    for (const auto& transport : engine.transports()) {
        const std::uint32_t slots = transport->limits().send_slots;
        constexpr std::uint32_t block = SlotPool<Call>::block_slots;
        if (slots != 0) most = std::min(most, std::max((slots - slots / 4) / block * block, block));
    }
    return most;
}

}  // namespace

ContextCore::ContextCore(Engine& owner, const Options& wanted)
    : ContextBase(owner, wanted),
      origin(*this, wanted.context.threads, calls_of(owner, wanted), messages_retained),
      target(*this, wanted),
      serving(*this, wanted),
      credits(*this, peers, control, target.requests.slots_max()),
      access(*this, peers, wanted.policy, owner.callers()),
      large_memory(options),
      fences(*this, peers, wanted.context.threads, wanted.lends_max) {}

ContextCore::~ContextCore() = default;

// The request, call or fence that has just ended may have been the last one, so the core may be gone when this returns.
void ContextBase::go_if_unheld() noexcept {
    if (!static_cast<const ContextCore&>(*this).held()) keep_alive.reset();
}

Result<void> ContextCore::open() {
    std::vector<na::Transport*> transports;
    std::uint32_t slots = ~0u;
    const na::Limits* growing = nullptr;
    for (const auto& transport : engine.transports()) {
        transports.push_back(transport.get());
        const na::Limits& limits = transport->limits();
        slots = std::min(slots, limits.receive_slots);
        if (const std::uint32_t most = limits.connections_max) peers.limit(most);
        const bool fewer = !growing || limits.receive_slots < growing->receive_slots;
        if (limits.receive_slots_max > limits.receive_slots && fewer) growing = &limits;
    }
    share_slots(slots);
    if (growing) credits.grow_slots_by(*growing);
    na::ContextOptions of_context = options.context;
    of_context.routes = engine.routes();
    auto opened = na::Context::open(transports, of_context, *this);
    if (!opened) return std::move(opened).error();
    na = *std::move(opened);
    if (na->ports().size() == 1) only_port = na->ports().front().get();
    mover = std::make_unique<bulk::Mover>(*na, engine.transports(), options.bulk);
    mover->set_owner_moves(far_moves);
    mover->set_count([](na::Peer& peer, bulk::Direction direction, std::uint64_t bytes) noexcept {
        auto* const book = static_cast<PeerBook*>(peer.upper);
        if (book) (direction == bulk::Direction::pull ? book->bytes_received : book->bytes_sent) += bytes;
    });
    note_homes();
    return {};
}

// Divides the receive slots: half of them are for replies, half for requests. A quarter of the slots for requests is
// kept out of the credit pool, for the first credits of connections that are opened later.
void ContextCore::share_slots(std::uint32_t slots) noexcept {
    replies.limit(std::max(slots / 2, 1u));
    credits.limit(std::max(slots / 2 - std::min(slots / 8, slots / 2), 1u));
}

void ContextCore::note_homes() {
    for (const auto& transport : engine.transports()) {
        std::vector<std::byte>& home = homes_.emplace_back();
        std::vector<std::string> endpoints = transport->endpoints();
        if (endpoints.empty()) continue;
        const na::Addr addr = na::Addr::make(std::move(endpoints), options.context.id, 0);
        home.resize(addr.encoded_bytes());
        ByteWriter writer{Bytes(home)};
        addr.encode(writer);
    }
}

// Called before the ports close, because closing them frees the memory of kept replies.
void ContextCore::drop_replies() noexcept {
    origin.calls.for_each([](Call& call) {
        if (!call.reply_) return;
        call.reply_.port->release(call.reply_);
        call.reply_ = {};
        call.whole_.app_text = {};
        if (call.large_output_) return;
        call.use_.output = {};
        // The call was answered, but its fence has not ended.
        if (call.phase_.load() == Call::Phase::in_flight && call.use_.result == Errc::ok)
            call.use_.result = Errc::canceled;
    });
}

// Gives messages back to the closed ports, and clears views of answers that were copied into them.
void ContextCore::drop_messages() noexcept {
    origin.calls.for_each([](Call& call) {
        if (!call.message_) return;
        const std::byte* const begin = call.message_->payload;
        const auto drop_if_inside = [begin, end = begin + call.message_->payload_bytes_max](auto& view) {
            const auto* const at = reinterpret_cast<const std::byte*>(view.data());
            if (at >= begin && at < end) view = {};
        };
        drop_if_inside(call.use_.output);
        drop_if_inside(call.whole_.app_text);
        call.message_->port->give_message(*std::exchange(call.message_, nullptr));
    });
    target.requests.for_each([](Request& request) {
        Serving::drop_message(request);
        request.use_.orphaned = true;
        request.go_whole_way();
    });
}

// Cancels the calls in flight; `one_way`: including one-way calls.
void ContextCore::cancel_calls(bool one_way) noexcept {
    const na::Context::Ownership ownership(*na);
    origin.calls.for_each([this, one_way](Call& call) {
        if (call.phase_.load() == Call::Phase::outside) return;
        if (one_way || !call.args.one_way) origin.finish(call, Errc::canceled);
    });
}

// Sends what was accepted, ends everything else in flight with `canceled`, and delivers the completions.
void ContextCore::close() noexcept {
    closing_ = true;
    target.close_short_way();
    cancel_calls(false);
    let_leave();
    cancel_calls(true);
    {
        const na::Context::Ownership ownership(*na);
        target.requests.for_each([this](Request& request) {
            if (request.book_ && request.references_.load() != 0) serving.cancel(request);
        });
        notices.end_all(Errc::closed);
    }
    mover->close();
    // Lets canceled transfers and fences end by themselves for a while; the rest is cut off below.
    for (int rounds = 0; rounds < 64 && (mover->transfers() != 0 || na->ops_posted() != 0); ++rounds) {
        (void)na->progress(Microseconds{0});
        deliver_all();
    }
    call_fences.end_all();
    deliver_all();  // completed calls may still show their replies
    // Releases receive slots before the ports close, which frees the memory of the slots.
    {
        const na::Context::Ownership ownership(*na);
        target.requests.for_each([this](Request& request) {
            if (request.kept_) credits.return_slot(request);
            request.input_ = request.large_input_ ? request.input_ : ConstBytes();
        });
        drop_replies();
    }
    na->close();
    closed_ = true;
    slow_readers.close();
    deadlines.close();
    peers.stop();
    fences.abandon();
    deliver_all();
    drop_messages();
    target.close();
    fences.end_quarantine();
    peers.release_all();
    CINNABAR_ASSERT(mover->transfers() == 0);
    mover.reset();
    large_memory.close();
}

ConstBytes ContextCore::home_of(const na::Port& port) const noexcept {
    const auto& transports = engine.transports();
    const na::Transport* const wanted = &na->transport_of(port);
    for (std::size_t i = 0; i < transports.size(); ++i) {
        if (transports[i].get() == wanted) return homes_[i];
    }
    return {};
}

Context::Context(std::shared_ptr<ContextCore> core) noexcept : core_(std::move(core)) { core_->facade = this; }

Context::~Context() {
    core_->close();
    core_->facade = nullptr;
    if (core_->held()) core_->keep_alive = core_;
}

unsigned Context::progress(Microseconds timeout) noexcept { return core_->na->progress(timeout); }
unsigned Context::trigger(unsigned count_max) noexcept {
    const SpareScope<Call> scope(spare_call, core_->origin.calls);
    return core_->na->trigger(count_max);
}
void Context::progress_beside() noexcept {
    core_->owned([this] { core_->target.queue_all(true); });
    (void)core_->na->progress(Microseconds{0});
    core_->owned([this] { core_->target.queue_all(false); });
}
void Context::run_urgent() noexcept { core_->target.run_urgent(); }
int Context::wait_fd() const noexcept { return core_->na->wait_fd(); }
bool Context::prepare_wait() noexcept { return core_->na->prepare_wait(); }

void Context::set_policy(std::shared_ptr<const Policy> policy) noexcept { core_->access.set(std::move(policy)); }
TimeUs Context::now_us() const noexcept { return core_->na->clock().now_us(); }
TimeUs Context::deadline_in(Microseconds span) const noexcept {
    return span == Microseconds::max() ? time_never : std::min(after(now_us(), span), time_never - 1);
}

na::Context& Context::na() noexcept { return *core_->na; }
bulk::Mover& Context::mover() noexcept { return *core_->mover; }
Engine& Context::engine() noexcept { return core_->engine; }
const Options& Context::options() const noexcept { return core_->options; }

na::Addr Context::self_addr() const { return core_->engine.self_addr().with_context(core_->options.context.id); }

void Context::ask_to_leave(const na::Addr& peer, Microseconds quiet) noexcept {
    core_->owned([&] {
        if (core_->closed_ || peer.empty()) return;
        const auto found = core_->na->peer(peer);
        if (found) core_->peers.ask_to_leave(**found, quiet);
    });
}

Context::Counts Context::counts() {
    Counts counts;
    core_->owned([&] {
        counts.calls = core_->origin.calls.taken();
        counts.requests = core_->target.taken();
        counts.peers = core_->peers.books.taken();
        counts.connections = core_->peers.connections();
        counts.queued = core_->queue.calls();
        counts.credits_granted = core_->credits.made();
        counts.large_bytes = core_->large_memory.taken();
        counts.large_bytes_kept = core_->large_memory.pooled();
        counts.decoded_bytes = core_->large_memory.decoded();
        counts.leases = core_->fences.lent();
        counts.quarantined = core_->fences.quarantined();
        counts.transfers = core_->mover->transfers();
        counts.replies_pending = core_->replies.expected();
        counts.replies_kept = core_->replies.kept();
        counts.sessions_ended = core_->control.sessions_ended();
        counts.replies_unsent = core_->credits.replies_unsent();
        CINNABAR_DEBUG_ASSERT(core_->peers.add_up());
    });
    return counts;
}

std::uint32_t Context::messages_retained() {
    std::uint32_t count = 0;
    const auto look = [&count](const auto& slot) { count += slot.message_ ? 1 : 0; };
    core_->origin.calls.for_each([&](const Call& call) { look(call); });
    core_->target.requests.for_each([&](const Request& request) { look(request); });
    return count;
}

void Context::on_peer(PeerFunction function, void* user) noexcept { core_->peers.set_listener(function, user); }

// For the files that do not include context_core.hpp.
template Origin& part_of<Origin>(const Call& call) noexcept;
template CallFences& part_of<CallFences>(const Call& call) noexcept;
template LargeValues& part_of<LargeValues>(const Call& call) noexcept;
template LargeValues& part_of<LargeValues>(const Request& request) noexcept;
template ContextBase& part_of<ContextBase>(const Request& request) noexcept;
template Control& part_of<Control>(const PeerBook& book) noexcept;
template CreditPool& part_of<CreditPool>(const PeerBook& book) noexcept;
template Peers& part_of<Peers>(const PeerBook& book) noexcept;
template SendQueue& part_of<SendQueue>(const PeerBook& book) noexcept;

}  // namespace cinnabar::rpc
