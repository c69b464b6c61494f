// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include "pin_ranges.hpp"
#include "rdma_library.hpp"
#include "system_errors.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/random.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

namespace cinnabar::verbs {
namespace {

constexpr TimeUs take_back_us_max = 1'000'000;

// Registers a range for local use, writable if possible. Memory that is only lent for reading may be mapped read-only.
ibv_mr* pin_range(const Device& device, const PinRange& range, na::Access access) noexcept {
    void* const base = reinterpret_cast<void*>(range.begin);
    ibv_mr* made = rdma().reg_mr(device.pd(), base, range.end - range.begin, IBV_ACCESS_LOCAL_WRITE);
    if (!made && access == na::Access::read && errno != ENOMEM) {
        made = rdma().reg_mr(device.pd(), base, range.end - range.begin, 0);
    }
    return made;
}

// What peers may do with lent memory, as flags of ibv_reg_mr.
unsigned remote_flags(na::Access access, bool atomics) noexcept {
    if (access == na::Access::read) return IBV_ACCESS_REMOTE_READ;
    unsigned flags = IBV_ACCESS_REMOTE_WRITE;
    if (access == na::Access::read_write) flags |= IBV_ACCESS_REMOTE_READ;
    if (access == na::Access::read_write && atomics) flags |= IBV_ACCESS_REMOTE_ATOMIC;
    return flags;
}

// What the registration of memory must allow this process, so that peers may do what `access` says.
unsigned local_flags(na::Access access) noexcept {
    return access == na::Access::read ? 0u : unsigned{IBV_ACCESS_LOCAL_WRITE};
}

// siw, a software driver, writes received bytes in a kernel section that cannot be preempted. membarrier() returns when
// all such sections are over. Changing the state of the queue pair would wait for them as well, but siw then loses work
// that it had to defer (siw_sq_resume), and the session hangs.
void wait_for_placing() noexcept { (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }

}  // namespace

VerbsMemory::VerbsMemory(na::Transport& transport, std::shared_ptr<Device> device,
                         std::span<const na::Segment> segments, na::Access access,
                         std::shared_ptr<na::Registrations> count)
    : CountedMemory(transport, segments, access, std::move(count)), device_(std::move(device)) {}

Result<std::unique_ptr<na::Memory>> VerbsMemory::make(na::Transport& transport, std::shared_ptr<Device> device,
                                                      std::span<const na::Segment> segments, na::Access access,
                                                      std::shared_ptr<na::Registrations> count) {
    std::unique_ptr<VerbsMemory> memory(
        new VerbsMemory(transport, std::move(device), segments, access, std::move(count)));
    CINNABAR_TRY_VOID(memory->pin(access));
    return std::unique_ptr<na::Memory>(std::move(memory));
}

Result<void> VerbsMemory::pin(na::Access access) {
    lkeys_.reserve(segments().size());
    const std::uint64_t bytes_max = device_->traits().registration_bytes_max;
    for (std::span<const na::Segment> left = segments(); !left.empty();) {
        CINNABAR_TRY(const PinRange range, first_range(left, bytes_max));
        Registration made(pin_range(*device_, range, access));
        if (!made) return registration_error(errno);
        lkeys_.insert(lkeys_.end(), range.segments, made->lkey);
        registrations_.push_back(std::move(made));
        left = left.subspan(range.segments);
    }
    return {};
}

std::size_t VerbsMemory::pieces_count(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return bytes == 0 ? 0 : segment_at(offset + bytes - 1) - segment_at(offset) + 1;
}

std::size_t VerbsMemory::pieces(std::uint64_t offset, std::uint64_t bytes, std::span<ibv_sge> out) const noexcept {
    std::size_t count = 0;
    std::uint64_t covered = 0;
    for (std::size_t i = bytes == 0 ? 0 : segment_at(offset); covered < bytes; ++i) {
        const std::uint64_t skip = offset + covered - segment_offset(i);
        const std::uint64_t take = std::min(segments()[i].bytes - skip, bytes - covered);
        out[count++] = {reinterpret_cast<std::uintptr_t>(segments()[i].base) + skip, static_cast<std::uint32_t>(take),
                        lkeys_[i]};
        covered += take;
    }
    return count;
}

namespace {

std::uint64_t own_address(const std::byte* base) noexcept { return reinterpret_cast<std::uintptr_t>(base); }

// The address under which a lease is registered. Remote keys are small numbers that devices assign in order, so a
// connected peer may guess them. Therefore the address that belongs to a key is secret: it has 42 random bits; the low
// bits must be those of the memory, for devices with large pages. Each wrong guess breaks the guesser's connection.
std::uint64_t lent_address(const std::byte* base) noexcept {
    constexpr std::uint64_t page = std::uint64_t{1} << 21;
    constexpr std::uint64_t top = std::uint64_t{1} << 63;  // so that no lease wraps around the end of the address space
    return (secret_u64() & (top - page)) | (own_address(base) & (page - 1));
}

}  // namespace

Result<std::unique_ptr<LentMemory>> lend(const Device& device, const na::Lease& lease) noexcept try {
    auto lent = std::make_unique<LentMemory>();
    const na::Memory& memory = *lease.memory;
    const bool by_windows = lease.lent_to == na::LentTo::one_peer && device.traits().windows;
    const unsigned remote = remote_flags(lease.access, device.traits().atomics);
    const unsigned flags = local_flags(lease.access) | (by_windows ? unsigned{IBV_ACCESS_MW_BIND} : remote);
    lent->window_access = remote;
    const std::uint64_t take_max = by_windows ? window_bytes_max : lease.bytes;
    std::uint64_t done = 0;
    while (done < lease.bytes) {
        const std::size_t i = memory.segment_at(lease.offset + done);
        const std::uint64_t skip = lease.offset + done - memory.segment_offset(i);
        const std::uint64_t take = std::min({memory.segments()[i].bytes - skip, lease.bytes - done, take_max});
        std::byte* const base = memory.segments()[i].base + skip;
        const std::uint64_t address = device.traits().picks_addresses ? lent_address(base) : own_address(base);
        Registration made(rdma().reg_mr_iova(device.pd(), base, take, address, static_cast<int>(flags)));
        if (!made) return registration_error(errno);
        std::uint32_t key = made->rkey;
        lent->registrations.push_back(std::move(made));
        if (by_windows) {
            Window window = make_window(*device.pd());
            if (!window) return window_error(errno);
            key = bound_key(*window);
            lent->windows.push_back(std::move(window));
        }
        lent->segments.push_back({address, take, key});
        done += take;
    }
    return lent;
} catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory);
}

bool take_back(const Device& device, LentMemory& lent) noexcept {
    const TimeUs until = steady_clock().now_us() + take_back_us_max;
    lent.windows.clear();  // first: a registration with bound windows cannot be deregistered
    while (!lent.registrations.empty()) {
        // While the device receives the rest of a message, dereg_mr waits for a while and then fails; so it is called
        // again.
        if (rdma().dereg_mr(lent.registrations.back().get()) == 0) {
            (void)lent.registrations.back().release();
            lent.registrations.pop_back();
        } else if (steady_clock().now_us() > until) {
            return false;
        }
    }
    if (device.traits().lets_go_late) wait_for_placing();
    return true;
}

}  // namespace cinnabar::verbs
