// SPDX-License-Identifier: BSD-3-Clause
#include "rma.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace cinnabar::self_ {
namespace {

// A revocation waits for the copy of one piece at most.
constexpr std::uint64_t piece_bytes = 256 * 1024;

void copy(const na::Memory& to, std::uint64_t to_offset, const na::Memory& from, std::uint64_t from_offset,
          std::uint64_t bytes) noexcept {
    while (bytes > 0) {
        iovec target{};
        iovec origin{};
        std::uint64_t covered = 0;
        (void)to.gather(to_offset, bytes, &target, 1, covered);
        (void)from.gather(from_offset, covered, &origin, 1, covered);
        std::memmove(target.iov_base, origin.iov_base, covered);
        to_offset += covered;
        from_offset += covered;
        bytes -= covered;
    }
}

Errc transfer(na::LeaseTable& leases, na::Op& op, const na::LeaseKey& key) noexcept {
    const na::Access want = op.kind == na::OpKind::get ? na::Access::read : na::Access::write;
    std::uint64_t done = 0;
    do {
        const std::uint64_t bytes = std::min(op.bytes - done, piece_bytes);
        const auto pin = leases.pin(key, op.remote_offset + done, bytes, want);
        if (!pin.ok()) return pin.why();
        if (op.kind == na::OpKind::get) {
            copy(*op.local, op.local_offset + done, pin.memory(), pin.offset(), bytes);
        } else {
            copy(pin.memory(), pin.offset(), *op.local, op.local_offset + done, bytes);
        }
        done += bytes;
    } while (done < op.bytes);
    return Errc::ok;
}

Errc atomic(na::LeaseTable& leases, na::Op& op, const na::LeaseKey& key) noexcept {
    const auto pin = leases.pin(key, op.remote_offset, sizeof(std::uint64_t), na::Access::read_write);
    if (!pin.ok()) return pin.why();
    iovec place{};
    std::uint64_t covered = 0;
    (void)pin.memory().gather(pin.offset(), sizeof(std::uint64_t), &place, 1, covered);
    if (covered != sizeof(std::uint64_t) || reinterpret_cast<std::uintptr_t>(place.iov_base) % 8 != 0) {
        return Errc::invalid_argument;
    }
    std::atomic_ref<std::uint64_t> word(*static_cast<std::uint64_t*>(place.iov_base));
    if (op.kind == na::OpKind::fetch_add) {
        op.fetched = word.fetch_add(op.operand);
    } else {
        op.fetched = op.compare;
        word.compare_exchange_strong(op.fetched, op.operand);
    }
    return Errc::ok;
}

}  // namespace

Errc access_memory(na::LeaseTable& leases, na::Op& op) noexcept {
    if (op.remote.key.size() != na::LeaseKey::wire_bytes) return Errc::protocol;
    Reader reader(op.remote.key);
    const na::LeaseKey key = na::LeaseKey::decode(reader);
    const bool on_words = op.kind == na::OpKind::fetch_add || op.kind == na::OpKind::compare_swap;
    return on_words ? atomic(leases, op, key) : transfer(leases, op, key);
}

}  // namespace cinnabar::self_
