// SPDX-License-Identifier: BSD-3-Clause
// The leases of a transport that moves the bytes itself (tcp, shm, ofi, sim, self): a table of slots with random 64-bit
// keys. An access pins its slot during each copy or system call. A revocation waits for pins only, and after it no
// access can begin. Any thread; no lock; allocates only when the table grows.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/pending_fences.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar::na {

class Guests;
class Peer;

// What a peer sends to name a lease; on the wire 16 bytes, {u32 slot, u32 generation, u64 key}.
struct LeaseKey {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::uint64_t key = 0;

    friend bool operator==(const LeaseKey&, const LeaseKey&) = default;

    static constexpr std::size_t wire_bytes = 16;
    void encode(ByteWriter& writer) const noexcept {
        writer.u32(slot);
        writer.u32(generation);
        writer.u64(key);
    }
    [[nodiscard]] static LeaseKey decode(ByteReader& reader) noexcept {
        LeaseKey k;
        k.slot = reader.u32();
        k.generation = reader.u32();
        k.key = reader.u64();
        return k;
    }
};

class CINNABAR_API LeaseTable {
  public:
    explicit LeaseTable(std::uint32_t leases_max) : slots_(ThreadUse::many, leases_max) {}

    [[nodiscard]] Errc grant(Lease& lease) noexcept;
    // Revokes the lease: blocks until no access pins its slot. A pin usually lasts for one non-blocking system call; a
    // transport that pins for longer calls close() first and waits itself.
    void revoke(Lease& lease) noexcept;
    // Prevents further pins; returns true if the slot is not pinned now. The lease stays granted until revoke().
    [[nodiscard]] bool close(const Lease& lease) noexcept;

    // From now on only accesses by this peer and by lease.guests are allowed. Requires: no peer has the key yet.
    void confine(const Lease& lease, const Peer& peer) noexcept;

    // For transports that must not block while a closed lease is pinned. After close(), they start the fence of the
    // slot, check pinned() from time to time, and at last call give_back() instead of revoke().
    [[nodiscard]] PendingFence& fence_of(const Lease& lease) noexcept { return slots_.made(lease.slot)->fence; }
    [[nodiscard]] bool pinned(std::uint32_t slot) const noexcept;
    void give_back(std::uint32_t slot) noexcept;

    // A right to access a lease during one copy or system call. Check ok() first.
    class Pin;
    // Pins the lease for one access. `by`: the peer that sent the key; null: unknown. Requires: if the lease has
    // guests, the caller owns the context of `by`, whose address is read. permission: no such lease, revoked, wrong
    // key, confined to others, or access not granted. too_large: out of bounds.
    [[nodiscard]] Pin pin(const LeaseKey& key, std::uint64_t offset, std::uint64_t bytes, Access want,
                          const Peer* by) noexcept;

    [[nodiscard]] std::uint32_t granted() const noexcept { return slots_.taken(); }

  private:
    static constexpr std::uint32_t revoked_bit = 0x8000'0000;
    struct Slot : PoolSlot {
        std::atomic<std::uint32_t> pins{revoked_bit};  // revoked_bit | the number of pins
        std::atomic<std::uint32_t> generation{0};
        std::atomic<std::uint64_t> key{0};  // 0: not granted
        std::atomic<const Peer*> confined_to{nullptr};
        std::shared_ptr<const Guests> guests;  // read only under a pin with the key, and dropped without pins
        Memory* memory = nullptr;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        Access access = Access::read;
        PendingFence fence;
    };
    SlotPool<Slot> slots_;
};

class LeaseTable::Pin {
  public:
    Pin(Pin&& other) noexcept
        : slot_(std::exchange(other.slot_, nullptr)),
          memory_(other.memory_),
          offset_(other.offset_),
          why_(other.why_) {}
    ~Pin() {
        if (slot_) slot_->pins.fetch_sub(1, std::memory_order_release);
    }
    [[nodiscard]] bool ok() const noexcept { return slot_ != nullptr; }
    [[nodiscard]] Errc why() const noexcept { return why_; }
    [[nodiscard]] const Memory& memory() const noexcept { return *memory_; }
    // Where the access begins within the memory.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

  private:
    friend class LeaseTable;
    explicit Pin(Errc why) noexcept : why_(why) {}
    Pin(Slot* slot, const Memory* memory, std::uint64_t offset) noexcept
        : slot_(slot), memory_(memory), offset_(offset) {}
    Slot* slot_ = nullptr;
    const Memory* memory_ = nullptr;
    std::uint64_t offset_ = 0;
    Errc why_ = Errc::ok;
};

}  // namespace cinnabar::na
