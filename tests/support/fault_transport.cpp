// SPDX-License-Identifier: BSD-3-Clause
#include "support/fault_transport.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cinnabar::support {
namespace {

class FaultMemory final : public na::Memory {
  public:
    FaultMemory(na::Transport& wrapper, std::unique_ptr<na::Memory> inner)
        : Memory(wrapper, inner->segments(), inner->access()), inner_(std::move(inner)) {}
    [[nodiscard]] na::Memory& inner() const noexcept { return *inner_; }

  private:
    std::unique_ptr<na::Memory> inner_;
};

// Gives access to Peer::port_, which names the inner port but must be the wrapper for a context.
struct PeerDoor : na::Peer {
    static void set_port(na::Peer& peer, na::Port& port) noexcept { peer.*(&PeerDoor::port_) = &port; }
};

class FaultPort final : public na::Port, private na::PortHost, private na::Receiver {
  public:
    FaultPort(na::PortHost& host, FaultTransport& transport)
        : host_(host), transport_(transport), faults_(transport.faults()) {}
    [[nodiscard]] Result<void> open(na::Transport& inner) {
        auto port = inner.open_port(*this);
        if (!port) return std::move(port).error();
        inner_ = *std::move(port);
        return {};
    }

    void close() noexcept override {
        for (na::Peer* peer : std::exchange(to_lose_, {})) peer->release();
        inner_->close();
        while (!held_.empty()) end_held(0);
    }
    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override {
        auto found = inner_->peer(addr);
        if (found) PeerDoor::set_port(**found, *this);
        return found;
    }
    void unreferenced(na::Peer& peer) noexcept override { inner_->unreferenced(peer); }
    void disconnect(na::Peer& peer) noexcept override { inner_->disconnect(peer); }
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    void cancel(na::Op& op) noexcept override {
        const bool held = std::any_of(held_.begin(), held_.end(), [&op](const Held& each) { return each.op == &op; });
        if (!held) inner_->cancel(op);
    }
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(na::Peer& peer, const na::RemoteMemory& memory,
                                                         std::uint64_t offset, std::uint64_t bytes) override {
        return inner_->view(peer, memory, offset, bytes);
    }
    unsigned poll() noexcept override;
    [[nodiscard]] bool hot() const noexcept override { return inner_->hot(); }
    void flush() noexcept override { inner_->flush(); }
    [[nodiscard]] bool prepare_wait() noexcept override {
        return inner_->prepare_wait() && held_.empty() && to_lose_.empty();
    }
    void idle(TimeUs until) noexcept override {
        if (held_.empty() && to_lose_.empty()) inner_->idle(until);
    }
    [[nodiscard]] na::Message* take_message() noexcept override {
        na::Message* message = inner_->take_message();
        if (message) message->port = this;
        return message;
    }
    void give_message(na::Message& message) noexcept override { inner_->give_message(message); }
    [[nodiscard]] Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        const Errc kept = inner_->keep(arrival, out);
        if (kept == Errc::ok) out.port = this;
        return kept;
    }
    [[nodiscard]] Errc detach(na::Kept& kept) noexcept override { return inner_->detach(kept); }
    void release(na::Kept& kept) noexcept override {
        kept.port = &*inner_;
        inner_->release(kept);
    }
    void stop_accepting() noexcept override { inner_->stop_accepting(); }

  private:
    struct Held {
        na::Op* op = nullptr;
        Errc result = Errc::ok;
        unsigned polls = 0;
    };

    [[nodiscard]] na::Receiver& receiver() noexcept override { return *this; }
    void complete(na::Op& op, Errc result) noexcept override;
    [[nodiscard]] TimeUs now_us() noexcept override { return host_.now_us(); }
    void arm(WheelTimer& timer, TimeUs when) noexcept override { host_.arm(timer, when); }
    void disarm(WheelTimer& timer) noexcept override { host_.disarm(timer); }
    [[nodiscard]] int epoll_fd() noexcept override { return host_.epoll_fd(); }
    void wake() noexcept override { host_.wake(); }
    void submit(WorkItem& work) noexcept override { host_.submit(work); }
    [[nodiscard]] na::ContextId context_id() const noexcept override { return host_.context_id(); }
    [[nodiscard]] ThreadUse threads() const noexcept override { return host_.threads(); }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept override { return host_.initial_credits(); }
    [[nodiscard]] bool spins() const noexcept override { return host_.spins(); }
    void peer_gone(na::Peer& peer) noexcept override { host_.peer_gone(peer); }

    void on_unexpected(na::Arrival& arrival) noexcept override {
        if (comes_through(arrival)) host_.receiver().on_unexpected(arrival);
    }
    void on_expected(na::Arrival& arrival) noexcept override {
        if (comes_through(arrival)) host_.receiver().on_expected(arrival);
    }
    void on_notify(na::Peer& peer, std::uint32_t value) noexcept override {
        PeerDoor::set_port(peer, *this);
        host_.receiver().on_notify(peer, value);
    }
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept override {
        PeerDoor::set_port(peer, *this);
        host_.receiver().on_peer(peer, event, why);
    }
    [[nodiscard]] bool comes_through(na::Arrival& arrival) noexcept {
        PeerDoor::set_port(*arrival.source, *this);
        arrival.port = this;
        return ++faults_.arrivals != faults_.drop_arrival && !faults_.drop_all_arrivals;
    }
    void end_held(std::size_t index) noexcept {
        const Held held = held_[index];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
        host_.complete(*held.op, held.result);
    }

    na::PortHost& host_;
    FaultTransport& transport_;
    Faults& faults_;
    std::unique_ptr<na::Port> inner_;
    std::vector<Held> held_;
    std::vector<na::Peer*> to_lose_;
    // The memory objects that the caller passed, while the inner port uses its own.
    std::vector<std::pair<na::Op*, na::Memory*>> swapped_;
};

Errc FaultPort::post(na::Op& op) noexcept {
    const std::uint64_t number = ++faults_.posts;
    if (faults_.again_one_in != 0 && number % faults_.again_one_in == 0) return Errc::again;
    if (number == faults_.fail_post) {
        held_.push_back({&op, faults_.fail_why, 0});
        return Errc::ok;
    }
    na::Memory* outer = op.local;
    const bool rma = op.kind == na::OpKind::put || op.kind == na::OpKind::get || op.kind == na::OpKind::put_notify;
    if (rma) op.local = &static_cast<FaultMemory*>(outer)->inner();
    const Errc taken = inner_->post(op);
    if (taken != Errc::ok) {
        op.local = outer;
        return taken;
    }
    if (rma) swapped_.emplace_back(&op, outer);
    if (number == faults_.lose_peer_at_post) {
        op.peer->acquire();
        to_lose_.push_back(op.peer);
    }
    return Errc::ok;
}

void FaultPort::complete(na::Op& op, Errc result) noexcept {
    const auto swapped =
        std::find_if(swapped_.begin(), swapped_.end(), [&op](const auto& each) { return each.first == &op; });
    if (swapped != swapped_.end()) {
        op.local = swapped->second;
        swapped_.erase(swapped);
    }
    if (faults_.late_polls == 0) return host_.complete(op, result);
    held_.push_back({&op, result, faults_.late_polls});
}

unsigned FaultPort::poll() noexcept {
    unsigned done = transport_.poll_fences();
    for (na::Peer* peer : std::exchange(to_lose_, {})) {
        inner_->disconnect(*peer);
        peer->release();
        ++done;
    }
    for (std::size_t count = held_.size(), i = 0; count > 0; --count) {
        ++done;  // also for fences that are only counted down, so that no context sleeps meanwhile
        if (faults_.late_polls == 0 || held_[i].polls-- == 0) {
            end_held(i);
        } else {
            ++i;
        }
    }
    return done + inner_->poll();
}

}  // namespace

Result<std::unique_ptr<na::Port>> FaultTransport::open_port(na::PortHost& host) {
    auto port = std::make_unique<FaultPort>(host, *this);
    CINNABAR_TRY_VOID(port->open(inner_));
    return std::unique_ptr<na::Port>(std::move(port));
}

Result<std::unique_ptr<na::Memory>> FaultTransport::register_memory(std::span<const na::Segment> segments,
                                                                    na::Access access) {
    CINNABAR_TRY(auto inner, inner_.register_memory(segments, access));
    return std::unique_ptr<na::Memory>(std::make_unique<FaultMemory>(*this, std::move(inner)));
}

Errc FaultTransport::grant(na::Lease& lease) noexcept {
    na::Memory* outer = lease.memory;
    lease.memory = &static_cast<FaultMemory*>(outer)->inner();
    const Errc granted = inner_.grant(lease);
    lease.memory = outer;
    return granted;
}

Errc FaultTransport::revoke(na::Lease& lease) noexcept {
    const Errc revoked = inner_.revoke(lease);
    if (revoked != Errc::ok || faults_.late_fences == 0) return revoked;
    fences_.push_back({&lease.fenced, faults_.late_fences});
    return Errc::again;
}

unsigned FaultTransport::poll_fences() noexcept {
    const auto count = static_cast<unsigned>(fences_.size());
    std::vector<LateFence> late;
    for (LateFence& fence : std::exchange(fences_, {})) {
        if (--fence.polls == 0) {
            fence.fenced->run(*fence.fenced);
        } else {
            late.push_back(fence);
        }
    }
    fences_.insert(fences_.end(), late.begin(), late.end());
    return count;
}

}  // namespace cinnabar::support
