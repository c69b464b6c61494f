// SPDX-License-Identifier: BSD-3-Clause
// A transport for the tests of bulk: RMA between regions of one process, completed by hand or automatically, with
// limits, refusals and a clock that the test sets. Peers are only names, and there are no messages.
#pragma once

#include <cinnabar/base/random.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/na/lease_table.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::bulk {

class ManualClock final : public TimeSource {
  public:
    [[nodiscard]] TimeUs now_us() noexcept override { return now; }
    TimeUs now = 1'000'000;
};

class FakeTransport;

class FakePeer final : public na::Peer {
  public:
    FakePeer(na::Port& port, na::Addr addr) : Peer(port, std::move(addr)) {}
    void set_of_own_user(bool is_one) { of_own_user_ = is_one; }
};

class FakePort final : public na::Port {
  public:
    FakePort(FakeTransport& transport, na::PortHost& host) : transport_(transport), host_(host) {}
    void close() noexcept override;

    // For the tests: what was posted and what was asked to be cancelled, each in order.
    std::vector<na::Op*> posted;
    std::vector<na::Op*> cancel_asked;
    std::uint64_t posts = 0;     // accepted with ok
    std::uint64_t refusals = 0;  // answered with another code
    // The results of the next posts; once it is empty, `ok`.
    std::deque<Errc> answers;
    // Automatic mode: each poll completes up to this many ops, chosen by `random`; one in again_one_in posts returns
    // `again`.
    unsigned complete_per_poll = 0;
    std::uint64_t again_one_in = 0;
    bool revocable = true;  // a cancel ends the op with `canceled` at the next poll
    Random random{1};

    // Ends a posted op at the next poll; with `ok` its bytes are moved just before.
    void end(na::Op& op, Errc result = Errc::ok) { ends_.emplace_back(&op, result); }
    void end_all(Errc result = Errc::ok) {
        for (na::Op* op : posted) end(*op, result);
    }
    [[nodiscard]] std::size_t peers_referenced() const {
        return static_cast<std::size_t>(
            std::count_if(peers_.begin(), peers_.end(), [](const auto& p) { return p.second->references() > 0; }));
    }

    [[nodiscard]] Result<na::Peer*> peer(const na::Addr& addr) override;
    void unreferenced(na::Peer&) noexcept override {}
    void disconnect(na::Peer&) noexcept override {}
    [[nodiscard]] Errc post(na::Op& op) noexcept override;
    void cancel(na::Op& op) noexcept override;
    unsigned poll() noexcept override;
    void flush() noexcept override {}
    [[nodiscard]] bool prepare_wait() noexcept override { return ends_.empty() && complete_per_poll == 0; }
    [[nodiscard]] na::Message* take_message() noexcept override { return nullptr; }
    void give_message(na::Message&) noexcept override {}
    [[nodiscard]] Errc keep(na::Arrival&, na::Kept&) noexcept override { return Errc::overloaded; }
    [[nodiscard]] Errc detach(na::Kept&) noexcept override { return Errc::overloaded; }
    void release(na::Kept&) noexcept override {}
    void stop_accepting() noexcept override {}

  private:
    void complete(na::Op& op, Errc result) noexcept;
    FakeTransport& transport_;
    na::PortHost& host_;
    std::map<const na::AddrBody*, std::unique_ptr<FakePeer>> peers_;
    std::deque<std::pair<na::Op*, Errc>> ends_;
};

class FakeTransport final : public na::Transport {
  public:
    explicit FakeTransport(std::string scheme = "fake") : scheme_(std::move(scheme)) {
        caps_.offset_addressing = true;
        limits_.rma_bytes_max = 16 << 20;
        limits_.segments_max = 65'536;
        limits_.op_segments_max = 1024;
        limits_.lease_key_bytes_max = na::LeaseKey::wire_bytes;
    }

    // For the tests.
    na::Caps caps_;
    na::Limits limits_;
    TimeSource* clock_ = nullptr;
    Errc registration_answer = Errc::ok;
    std::atomic<int> registrations{0};  // alive
    std::atomic<int> registered{0};     // ever
    bool fences_late = false;           // revoke returns `again`
    na::Lease* fencing = nullptr;
    bool provides_memory = false;
    int memory_provided = 0;   // allocated and not freed
    FakePort* port = nullptr;  // the one that was opened last
    na::LeaseTable leases{65'536};
    [[nodiscard]] na::Addr addr(const std::string& name) const {
        return na::Addr::make({scheme_ + "://" + name}, 0, 0);
    }
    void fence_done(bool failed) {
        na::Lease& lease = *std::exchange(fencing, nullptr);
        leases.revoke(lease);
        lease.fence_failed = failed;
        lease.fenced.run(lease.fenced);
    }

    [[nodiscard]] std::string_view scheme() const noexcept override { return scheme_; }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return caps_; }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return limits_; }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return 1; }
    [[nodiscard]] std::vector<std::string> endpoints() const override { return {}; }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override {
        return endpoint.starts_with(scheme_ + "://") || endpoint.starts_with("any://");
    }
    [[nodiscard]] TimeSource* clock() noexcept override { return clock_; }
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override {
        auto made = std::make_unique<FakePort>(*this, host);
        port = made.get();
        return std::unique_ptr<na::Port>(std::move(made));
    }
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override {
        if (registration_answer != Errc::ok) return registration_answer;
        return std::unique_ptr<na::Memory>(std::make_unique<FakeMemory>(*this, segments, access));
    }
    [[nodiscard]] void* allocate_memory(std::size_t bytes) noexcept override {
        if (!provides_memory) return nullptr;
        ++memory_provided;
        return ::operator new (bytes, std::align_val_t{4096}, std::nothrow);
    }
    void free_memory(void* memory, std::size_t) noexcept override {
        --memory_provided;
        ::operator delete (memory, std::align_val_t{4096});
    }
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override { return leases.grant(lease); }
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override {
        if (fences_late) {
            fencing = &lease;
            return Errc::again;
        }
        leases.revoke(lease);
        return Errc::ok;
    }
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override {
        na::LeaseKey{lease.slot, lease.generation, lease.key}.encode(writer);
    }
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override {
        return na::LeaseKey::wire_bytes;
    }

    // Moves the bytes of an op, as the owner of the lease would. Fails the test if a rule of na is broken.
    [[nodiscard]] Errc move(na::Op& op) noexcept {
        ByteReader reader(op.remote.key);
        const auto key = na::LeaseKey::decode(reader);
        const bool get = op.kind == na::OpKind::get;
        const na::Access want = get ? na::Access::read : na::Access::write;
        const auto pin = leases.pin(key, op.remote_offset, op.bytes, want, nullptr);
        if (!pin.ok()) return pin.why();
        const na::Memory& there = pin.memory();
        if (!caps_.offset_addressing && op.bytes > 0 &&
            there.segment_at(pin.offset()) != there.segment_at(pin.offset() + op.bytes - 1)) {
            return Errc::too_large;
        }
        std::uint64_t done = 0;
        while (done < op.bytes) {
            iovec here{};
            iovec far{};
            std::uint64_t covered = 0;
            (void)op.local->gather(op.local_offset + done, op.bytes - done, &here, 1, covered);
            (void)there.gather(pin.offset() + done, covered, &far, 1, covered);
            if (get) {
                std::memcpy(here.iov_base, far.iov_base, covered);
            } else {
                std::memcpy(far.iov_base, here.iov_base, covered);
            }
            done += covered;
        }
        return Errc::ok;
    }

  private:
    class FakeMemory final : public na::Memory {
      public:
        FakeMemory(FakeTransport& transport, std::span<const na::Segment> segments, na::Access access)
            : Memory(transport, segments, access), counted_(transport) {
            ++counted_.registrations;
            ++counted_.registered;
        }
        ~FakeMemory() override { --counted_.registrations; }

      private:
        FakeTransport& counted_;
    };
    const std::string scheme_;
};

inline void FakePort::close() noexcept {
    while (!posted.empty()) complete(*posted.front(), Errc::canceled);
}

inline Result<na::Peer*> FakePort::peer(const na::Addr& addr) {
    const auto& endpoints = addr.body().endpoints;
    if (std::none_of(endpoints.begin(), endpoints.end(),
                     [this](const std::string& e) { return transport_.reaches(e); })) {
        return Errc::unreachable;
    }
    auto& peer = peers_[&addr.body()];
    if (!peer) peer = std::make_unique<FakePeer>(*this, addr);
    return static_cast<na::Peer*>(peer.get());
}

inline Errc FakePort::post(na::Op& op) noexcept {
    Errc answer = Errc::ok;
    if (!answers.empty()) {
        answer = answers.front();
        answers.pop_front();
    } else if (random.chance(again_one_in)) {
        answer = Errc::again;
    }
    if (answer != Errc::ok) {
        ++refusals;
        return answer;
    }
    ++posts;
    posted.push_back(&op);
    return Errc::ok;
}

inline void FakePort::cancel(na::Op& op) noexcept {
    cancel_asked.push_back(&op);
    if (revocable) end(op, Errc::canceled);
}

inline void FakePort::complete(na::Op& op, Errc result) noexcept {
    const auto at = std::find(posted.begin(), posted.end(), &op);
    if (at == posted.end()) return;
    posted.erase(at);
    std::erase_if(ends_, [&op](const auto& end) { return end.first == &op; });
    if (result == Errc::ok) result = transport_.move(op);
    host_.complete(op, result);
}

inline unsigned FakePort::poll() noexcept {
    unsigned did = 0;
    for (std::size_t i = ends_.size(); i > 0 && !ends_.empty(); --i, ++did) {
        const auto [op, result] = ends_.front();
        ends_.pop_front();
        complete(*op, result);
    }
    for (unsigned i = 0; i < complete_per_poll && !posted.empty(); ++i, ++did) {
        complete(*posted[random.below(posted.size())], Errc::ok);
    }
    return did;
}

}  // namespace cinnabar::bulk
