// SPDX-License-Identifier: BSD-3-Clause
// Memory that a transport may access: registrations, which present one or many segments as one range of bytes, and
// leases, which let peers access a part of a registration for a time. The memory itself belongs to the caller and must
// outlive the registration.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct iovec;

namespace cinnabar::na {

class Guests;
class Transport;

// A registration. Immutable: any thread may read it. A plugin adds its registration keys in a derived class. Requires:
// no op and no lease uses the registration when it is destroyed.
class Memory {
  public:
    virtual ~Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    [[nodiscard]] std::span<const Segment> segments() const noexcept { return segments_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
    [[nodiscard]] Access access() const noexcept { return access_; }  // the most that a lease may allow
    [[nodiscard]] Transport& transport() const noexcept { return *transport_; }

    // Writes the pieces of [offset, offset + bytes) as at most `count_max` iovecs. Returns how many were written and,
    // in `covered`, how many bytes they hold. Never allocates. Requires: the range lies inside.
    CINNABAR_API std::size_t gather(std::uint64_t offset, std::uint64_t bytes, iovec* out, std::size_t count_max,
                                    std::uint64_t& covered) const noexcept;
    // Copies out of [offset, offset + to.size()), or into it. Requires: the range lies inside.
    CINNABAR_API void copy_out(std::uint64_t offset, Bytes to) const noexcept;
    CINNABAR_API void copy_in(std::uint64_t offset, ConstBytes from) const noexcept;
    // Copies from another registration; the ranges may overlap.
    CINNABAR_API void copy_in(std::uint64_t offset, const Memory& from, std::uint64_t from_offset,
                              std::uint64_t bytes) const noexcept;
    // The index of the segment that holds `offset`. Requires: offset < bytes().
    [[nodiscard]] CINNABAR_API std::size_t segment_at(std::uint64_t offset) const noexcept;
    [[nodiscard]] std::uint64_t segment_offset(std::size_t index) const noexcept {
        return index ? ends_[index - 1] : 0;
    }

  protected:
    // Empty segments are dropped.
    CINNABAR_API Memory(Transport& transport, std::span<const Segment> segments, Access access);

  private:
    template <typename Copy>
    void each_piece(std::uint64_t offset, std::uint64_t bytes, Copy&& copy) const noexcept;

    Transport* transport_;
    std::vector<Segment> segments_;
    std::vector<std::uint64_t> ends_;  // running sums of the segments' sizes
    Access access_;
};

// Whom a lease is for. Set it before grant.
enum class LentTo : std::uint8_t {
    anyone,    // every peer that has the key. confine() can still restrict it, if the owner checks each access
    one_peer,  // the peer that confine() names. Until that call, a device may make the key good for nobody
};

// The right to access a part of a registration, for peers that know the lease's key. The lender owns the lease, and
// must not move it while it is granted. Grant, describe and revoke: any thread of a `many` context, the owner of a
// `one` context.
struct Lease {
    Memory* memory = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Access access = Access::read;
    LentTo lent_to = LentTo::anyone;

    std::uint64_t key = 0;         // random; 0 while not granted
    std::uint32_t slot = 0;        // private to the transport
    std::uint32_t generation = 0;  // private to the transport
    void* registration = nullptr;  // private to the transport (a memory window)

    // Runs once inside progress() when the fence is over, if Transport::revoke returned `again`.
    WorkItem fenced;
    bool fence_failed = false;  // the peer may still access the memory: quarantine it (docs/limits.md)

    // The peers that may use the lease besides the peer passed to Transport::confine, which reads this field; null:
    // none. A lease with guests is for LentTo::anyone, so that a device that cannot tell guests apart lets them in
    // (Caps::admits_guests).
    std::shared_ptr<const Guests> guests;

    [[nodiscard]] bool granted() const noexcept { return key != 0; }
};

}  // namespace cinnabar::na
