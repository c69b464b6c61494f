// SPDX-License-Identifier: BSD-3-Clause
// FarLender: lends far memory, which no network transport can lend. A FarLender is a transport without ports, which a
// Lend uses like any other. The FarLender writes a key into the descriptor; a peer that has the key calls the owner,
// which then moves the bytes (owner_moves.hpp). For each chunk, the owner looks the key up in its FarLender. Revoking a
// lease stops the transfers that use the lease, which is fenced when the last of these transfers has ended. A copy that
// has begun cannot be stopped: if a disk hangs, the fence fails (give_up), and the memory is in quarantine until the
// copy has ended. Any thread.
#pragma once

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace cinnabar::bulk {

// Used in descriptors in place of a transport's scheme.
inline constexpr std::string_view far_scheme = "far";
inline constexpr std::size_t far_key_bytes = 8;
inline constexpr std::size_t far_leases_max = 65'536;

class CINNABAR_API FarLender final : public na::Transport {
  public:
    FarLender();
    // Requires: nothing is lent.
    ~FarLender() override;

    // One chunk's use of the memory, from begin() to end().
    struct Use {
        Region memory;
        // Asks the use to end early, because the lease is revoked. The FarLender calls stop() at most once, and holds
        // its lock meanwhile, so stop() must not block or call the FarLender.
        void (*stop)(Use& use) noexcept = nullptr;
        const na::Peer* by = nullptr;    // the peer that sent the key; it is only compared
        const na::Addr* from = nullptr;  // its address, for guests; null: not known. Read by begin() only
        std::uint64_t key = 0;
        ListLink<Use> link;
    };
    // Begins a use of the lease that `key` names; describe() has written the key. permission: no lease has this key, or
    // the lease was revoked, is confined to other peers, or does not grant `access`. too_large: the range is outside of
    // the lease.
    [[nodiscard]] Errc begin(std::uint64_t key, std::uint64_t offset, std::uint64_t bytes, na::Access access,
                             Use& use) noexcept;
    void end(Use& use) noexcept;
    // Ends the wait for a lease whose revoke() returned `again`: the fence fails, unless it has ended already.
    void give_up(na::Lease& lease) noexcept;

    // See na::Transport.
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
    // lease.registration must point to the region that is lent, for the duration of this call.
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    void confine(const na::Lease& lease, const na::Peer& peer) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    [[nodiscard]] bool is_accessed(const na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override { writer.u64(lease.key); }
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override { return far_key_bytes; }

  private:
    struct Entry {
        Region window;
        na::Access access = na::Access::read;
        const na::Peer* confined_to = nullptr;
        std::shared_ptr<const na::Guests> guests;
        bool is_revoked = false;      // kept only until its uses end
        na::Lease* fenced = nullptr;  // the lease whose fence waits for the uses; null once it has failed
        IntrusiveList<Use, &Use::link> uses;
    };
    na::Caps caps_;
    na::Limits limits_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, Entry> entries_;  // by key
};

}  // namespace cinnabar::bulk
