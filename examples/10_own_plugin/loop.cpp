// SPDX-License-Identifier: BSD-3-Clause
// A whole transport in one file: each context reaches itself and nobody else. The transport implements every function
// of the contract in the simplest way, and so allocates memory where a real transport would not.
#include <cinnabar/base/random.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/plugin.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace {

using namespace cinnabar;

constexpr std::string_view endpoint = "loop://here";

class LoopMemory final : public na::Memory {
  public:
    LoopMemory(na::Transport& transport, std::span<const na::Segment> segments, na::Access access)
        : Memory(transport, segments, access) {}
};

class LoopPeer final : public na::Peer {
  public:
    LoopPeer(na::Port& port, na::Addr addr, std::size_t message_bytes_max) : Peer(port, std::move(addr)) {
        message_bytes_max_ = static_cast<std::uint32_t>(message_bytes_max);  // its own limit until it has a peer's
    }
    void connect(na::Incarnation incarnation, std::uint32_t credits) {
        incarnation_ = incarnation;
        initial_credits_ = credits;
        ++epoch_;
        state_ = na::PeerState::connected;
    }
    void disconnect() { state_ = na::PeerState::idle; }
};

class LoopTransport final : public na::Transport {
  public:
    explicit LoopTransport(const na::TransportOptions& options) : options_(options) {
        caps_.ordered = caps_.put_notify = caps_.offset_addressing = caps_.revocable = caps_.detects_loss = true;
        caps_.wait_fd = caps_.same_host_only = caps_.confines = true;
        limits_.message_bytes_max = options.message_bytes_max;
        limits_.rma_bytes_max = 1024 * 1024;
        limits_.segments_max = limits_.op_segments_max = 64;
        limits_.lease_key_bytes_max = na::LeaseKey::wire_bytes;
        limits_.rma_inflight_max = 16;
        limits_.receive_slots = options.receive_slots;
    }
    std::string_view scheme() const noexcept override { return "loop"; }
    const na::Caps& caps() const noexcept override { return caps_; }
    const na::Limits& limits() const noexcept override { return limits_; }
    na::Incarnation incarnation() const noexcept override { return incarnation_; }
    std::vector<std::string> endpoints() const override { return {std::string(endpoint)}; }
    bool reaches(std::string_view text) const noexcept override { return text == endpoint; }
    Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                        na::Access access) override {
        if (segments.size() > limits_.segments_max) return Error(Errc::too_large, "over segments_max");
        return std::unique_ptr<na::Memory>(std::make_unique<LoopMemory>(*this, segments, access));
    }
    Errc grant(na::Lease& lease) noexcept override { return leases_.grant(lease); }
    void confine(const na::Lease& lease, const na::Peer& peer) noexcept override { leases_.confine(lease, peer); }
    Errc revoke(na::Lease& lease) noexcept override {
        leases_.revoke(lease);
        return Errc::ok;
    }
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override {
        na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
    }
    std::size_t described_bytes(const na::Lease&) const noexcept override { return na::LeaseKey::wire_bytes; }
    na::LeaseTable& leases() noexcept { return leases_; }

  private:
    const na::TransportOptions options_;
    na::Caps caps_;
    na::Limits limits_;
    const na::Incarnation incarnation_ = secret_u64();
    na::LeaseTable leases_{1024};
};

class LoopPort final : public na::Port {
  public:
    LoopPort(LoopTransport& transport, na::PortHost& host)
        : transport_(transport),
          host_(host),
          peer_(*this, na::Addr::make({std::string(endpoint)}, host.context_id(), transport.incarnation()),
                transport.limits().message_bytes_max) {}

    void close() noexcept override {
        closed_ = true;
        host_.peer_gone(peer_);
        while (!done_.empty()) complete_one();
    }
    Result<na::Peer*> peer(const na::Addr& addr) override {
        if (addr.body().context != host_.context_id()) return Error(Errc::unreachable, "a loop reaches itself only");
        return static_cast<na::Peer*>(&peer_);
    }
    void unreferenced(na::Peer&) noexcept override {}
    void disconnect(na::Peer&) noexcept override { lost_ = peer_.state() == na::PeerState::connected; }

    Errc post(na::Op& op) noexcept override {
        if (closed_) return Errc::closed;
        if (waiting_ == transport_.limits().receive_slots) return Errc::again;
        done_.emplace_back(&op, carry_out(op));
        return Errc::ok;
    }
    void cancel(na::Op&) noexcept override {}  // posted operations are already done

    unsigned poll() noexcept override {
        if (peer_.state() == na::PeerState::idle && !done_.empty()) {
            peer_.connect(transport_.incarnation(), host_.initial_credits());
            host_.receiver().on_peer(peer_, na::PeerEvent::connected, Errc::ok);
        }
        unsigned did = 0;
        for (std::size_t left = done_.size(); left > 0; --left, ++did) complete_one();
        for (std::size_t left = arrived_.size(); left > 0; --left, ++did) deliver_one();
        if (std::exchange(lost_, false)) {
            peer_.disconnect();
            host_.receiver().on_peer(peer_, na::PeerEvent::lost, Errc::peer_lost);
        }
        return did;
    }
    bool hot() const noexcept override { return true; }
    void flush() noexcept override {}
    bool prepare_wait() noexcept override { return done_.empty() && arrived_.empty() && !lost_; }

    na::Message* take_message() noexcept override {
        auto message = std::make_unique<OwnMessage>();
        message->storage.resize(transport_.limits().message_bytes_max);
        message->port = this;
        message->payload = message->storage.data();
        message->payload_bytes_max = static_cast<std::uint32_t>(message->storage.size());
        na::Message* taken = message.get();
        messages_.emplace(taken, std::move(message));
        return taken;
    }
    void give_message(na::Message& message) noexcept override { messages_.erase(&message); }

    Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        auto* bytes = new std::vector<std::byte>(std::move(*static_cast<std::vector<std::byte>*>(arrival.token)));
        out = na::Kept{*bytes, this, bytes, 0, false};
        return Errc::ok;
    }
    Errc detach(na::Kept& kept) noexcept override {
        kept.detached = true;
        return Errc::ok;
    }
    void release(na::Kept& kept) noexcept override {
        delete static_cast<std::vector<std::byte>*>(kept.token);
        kept = {};
    }
    void stop_accepting() noexcept override {}

  private:
    struct OwnMessage : na::Message {
        std::vector<std::byte> storage;
    };
    struct Arrived {
        na::OpKind kind;
        na::Tag tag;
        std::vector<std::byte> bytes;
    };

    Errc carry_out(na::Op& op) {
        if (op.kind == na::OpKind::send_unexpected || op.kind == na::OpKind::send_expected) {
            const auto bytes = op.message->bytes().first(op.message_bytes);
            arrive({op.kind, op.tag, {bytes.begin(), bytes.end()}});
            return Errc::ok;
        }
        const Errc moved = move_bytes(op);
        if (moved == Errc::ok && op.kind == na::OpKind::put_notify) arrive({op.kind, op.notify, {}});
        return moved;
    }
    Errc move_bytes(na::Op& op) {
        if (op.remote.key.size() != na::LeaseKey::wire_bytes) return Errc::protocol;
        ByteReader reader(op.remote.key);
        const auto key = na::LeaseKey::decode(reader);
        const bool get = op.kind == na::OpKind::get;
        const na::Access want = get ? na::Access::read : na::Access::write;
        const auto pin = transport_.leases().pin(key, op.remote_offset, op.bytes, want, &peer_);
        if (!pin.ok()) return pin.why();
        for (std::uint64_t at = 0; at < op.bytes;) {
            iovec here{};
            iovec there{};
            std::uint64_t covered = 0;
            op.local->gather(op.local_offset + at, op.bytes - at, &here, 1, covered);
            pin.memory().gather(pin.offset() + at, covered, &there, 1, covered);
            std::memmove(get ? here.iov_base : there.iov_base, get ? there.iov_base : here.iov_base, covered);
            at += covered;
        }
        return Errc::ok;
    }
    void arrive(Arrived arrived) {
        ++waiting_;
        arrived_.push_back(std::move(arrived));
    }
    void deliver_one() {
        Arrived arrived = std::move(arrived_.front());
        arrived_.pop_front();
        --waiting_;
        na::Arrival arrival{arrived.bytes, &peer_, arrived.tag, this, &arrived.bytes, 0};
        switch (arrived.kind) {
            case na::OpKind::send_unexpected:
                return host_.receiver().on_unexpected(arrival);
            case na::OpKind::send_expected:
                return host_.receiver().on_expected(arrival);
            default:
                return host_.receiver().on_notify(peer_, static_cast<std::uint32_t>(arrived.tag));
        }
    }
    void complete_one() {
        const auto [op, result] = done_.front();
        done_.pop_front();
        host_.complete(*op, result);
    }

    LoopTransport& transport_;
    na::PortHost& host_;
    LoopPeer peer_;
    std::map<na::Message*, std::unique_ptr<OwnMessage>> messages_;
    std::deque<std::pair<na::Op*, Errc>> done_;
    std::deque<Arrived> arrived_;
    std::uint32_t waiting_ = 0;
    bool lost_ = false;
    bool closed_ = false;
};

Result<std::unique_ptr<na::Port>> LoopTransport::open_port(na::PortHost& host) {
    return std::unique_ptr<na::Port>(std::make_unique<LoopPort>(*this, host));
}

const na::PluginInfo loop{
    na::plugin_abi, "loop", "each context to itself: an example of a plugin",
    [](const na::Uri&, const na::TransportOptions& options) -> Result<std::unique_ptr<na::Transport>> {
        return std::unique_ptr<na::Transport>(std::make_unique<LoopTransport>(options));
    }};

}  // namespace

CINNABAR_PLUGIN(loop)
