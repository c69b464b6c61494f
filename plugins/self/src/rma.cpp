// SPDX-License-Identifier: BSD-3-Clause
#include "rma.hpp"

#include <cinnabar/na/session/remote_access.hpp>

#include <algorithm>

namespace cinnabar::self_ {
namespace {

// Bytes copied under one pin: a revocation waits for one such copy at most.
constexpr std::uint64_t piece_bytes = 256 * 1024;

Errc transfer(na::LeaseTable& leases, na::Op& op, const na::LeaseKey& key) noexcept {
    const na::Access want = op.kind == na::OpKind::get ? na::Access::read : na::Access::write;
    std::uint64_t done = 0;
    do {
        const std::uint64_t bytes = std::min(op.bytes - done, piece_bytes);
        const auto pin = leases.pin(key, op.remote_offset + done, bytes, want, nullptr);
        if (!pin.ok()) return pin.why();
        if (op.kind == na::OpKind::get) {
            op.local->copy_in(op.local_offset + done, pin.memory(), pin.offset(), bytes);
        } else {
            pin.memory().copy_in(pin.offset(), *op.local, op.local_offset + done, bytes);
        }
        done += bytes;
    } while (done < op.bytes);
    return Errc::ok;
}

}  // namespace

Errc access_memory(na::LeaseTable& leases, na::Op& op) noexcept {
    if (op.remote.key.size() != na::LeaseKey::wire_bytes) return Errc::protocol;
    ByteReader reader(op.remote.key);
    const na::LeaseKey key = na::LeaseKey::decode(reader);
    if (!na::is_atomic(op.kind)) return transfer(leases, op, key);
    const auto pin = leases.pin(key, op.remote_offset, sizeof(std::uint64_t), na::Access::read_write, nullptr);
    return na::run_atomic(pin, op.kind, op.operand, op.compare, op.fetched);
}

}  // namespace cinnabar::self_
