// SPDX-License-Identifier: BSD-3-Clause
// FarLender: lends far memory, which no transport can lend. To a Lend it is one more transport, without ports; what it
// writes into a descriptor is a key, and who has that asks the owner, by calls, to move the bytes (owner_moves.hpp).
// The owner looks the key up here for each chunk. A lease that is taken back stops the transfers that run on it, and is
// fenced when the last of them has ended. Any thread.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/transport.hpp>

#include <mutex>
#include <string_view>
#include <unordered_map>

namespace cinnabar::bulk {

// In place of a transport's scheme, in descriptors.
inline constexpr std::string_view far_scheme = "far";
inline constexpr std::size_t far_key_bytes = 8;
inline constexpr std::size_t far_leases_max = 65'536;

class CINNABAR_API FarLender final : public na::Transport {
  public:
    FarLender();
    // Requires: nothing is lent.
    ~FarLender() override;

    // Memory in use for one chunk, from begin() to end().
    struct Use {
        Region memory;
        // Asks for an early end, because the lease is taken back; at most once. Called with a lock held: it must
        // neither block nor call back.
        void (*stop)(Use& use) noexcept = nullptr;
        std::uint64_t key = 0;
        ListLink<Use> link;
    };
    // `key` is what describe() wrote. permission: no such lease, taken back, or lent for less; too_large: beyond it.
    [[nodiscard]] Errc begin(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, na::Access access,
                             Use& use) noexcept;
    void end(Use& use) noexcept;

    // As na::Transport says.
    [[nodiscard]] std::string_view scheme() const noexcept override { return far_scheme; }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return caps_; }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return limits_; }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return 0; }
    [[nodiscard]] std::vector<std::string> endpoints() const override { return {}; }
    [[nodiscard]] bool reaches(std::string_view) const noexcept override { return false; }
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost&) override {
        return Error(Errc::unsupported, "a lender of far memory has no ports");
    }
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    // lease.registration points to the region that is lent, for this call.
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, Writer& writer) const noexcept override { writer.u64(lease.key); }
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override { return far_key_bytes; }

  private:
    struct Entry {
        Region window;
        na::Access access = na::Access::read;
        na::Lease* revoked = nullptr;  // whose fence waits for the uses
        IntrusiveList<Use, &Use::link> uses;
    };
    na::Caps caps_;
    na::Limits limits_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, Entry> entries_;  // by key
};

}  // namespace cinnabar::bulk
