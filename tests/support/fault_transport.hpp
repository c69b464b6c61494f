// SPDX-License-Identifier: BSD-3-Clause
// Wraps any transport and injects faults: a context uses the wrapper's ports in place of the transport's own. Posts and
// arrivals are counted over all ports of a wrapper. Single-threaded.
#pragma once

#include <cinnabar/na/transport.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace cinnabar::support {

// The faults to inject. "Nth" counts from 1; 0 means never. May be changed at any time.
struct Faults {
    std::uint64_t fail_post = 0;  // the Nth post is accepted, sends nothing, and completes with fail_why
    Errc fail_why = Errc::io;
    std::uint64_t again_one_in = 0;       // every Nth post returns `again`
    unsigned late_fences = 0;             // revoke returns `again`, and the fence completes after this many polls
    unsigned late_polls = 0;              // completions are delayed by this many polls, or until this is 0 again
    std::uint64_t lose_peer_at_post = 0;  // the Nth post is sent, and its peer is disconnected right after
    std::uint64_t drop_arrival = 0;       // the Nth arrival is not delivered
    bool drop_all_arrivals = false;
    // Counted.
    std::uint64_t asked = 0;  // whether the transport reaches an address
    std::uint64_t posts = 0;
    std::uint64_t arrivals = 0;
};

class FaultTransport final : public na::Transport {
  public:
    // `inner` must outlive the wrapper; the wrapper its contexts.
    explicit FaultTransport(na::Transport& inner) : inner_(inner) {}
    [[nodiscard]] Faults& faults() noexcept { return faults_; }
    // Called for each poll of a port: counts down delayed fences and returns their number.
    unsigned poll_fences() noexcept;
    [[nodiscard]] std::size_t fences() const noexcept { return fences_.size(); }

    [[nodiscard]] std::string_view scheme() const noexcept override { return inner_.scheme(); }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return inner_.caps(); }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return inner_.limits(); }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return inner_.incarnation(); }
    [[nodiscard]] std::vector<std::string> endpoints() const override { return inner_.endpoints(); }
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override {
        ++faults_.asked;
        return inner_.reaches(endpoint);
    }
    [[nodiscard]] TimeSource* clock() noexcept override { return inner_.clock(); }
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    // The memory names the wrapper as its transport, which the context checks; keys are those of the inner transport.
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] void* allocate_memory(std::size_t bytes) noexcept override { return inner_.allocate_memory(bytes); }
    void free_memory(void* memory, std::size_t bytes) noexcept override { inner_.free_memory(memory, bytes); }
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override {
        inner_.describe(lease, writer);
    }
    [[nodiscard]] std::size_t described_bytes(const na::Lease& lease) const noexcept override {
        return inner_.described_bytes(lease);
    }
    [[nodiscard]] std::string diagnosis() const override { return inner_.diagnosis(); }

  private:
    struct LateFence {
        WorkItem* fenced = nullptr;
        unsigned polls = 0;
    };

    na::Transport& inner_;
    mutable Faults faults_;
    std::vector<LateFence> fences_;
};

}  // namespace cinnabar::support
