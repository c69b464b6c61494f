// SPDX-License-Identifier: BSD-3-Clause
// How a call lends memory: small read-only memory travels inside the descriptor, and any other memory is leased.
#include "context_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>

#include <new>

namespace cinnabar::rpc {
namespace {

// Memory in several segments is copied to the stack first, if it has at most this size.
constexpr std::size_t gathered_bytes_max = 4096;

bool goes_along(const bulk::Region& region, na::Access access, const Options& options) noexcept {
    if (region.is_far()) return false;
    if (access != na::Access::read || region.bytes() > options.eager_bytes_max) return false;
    return region.bytes() <= gathered_bytes_max || !region.contiguous().empty();
}

}  // namespace

std::shared_ptr<na::Transport> ContextCore::far_lender() noexcept {
    try {
        auto lender = engine.far_lender();
        if (lender) return *std::move(lender);
        log(LogLevel::warning, "rpc", "far memory cannot be lent: %s", lender.error().message().c_str());
    } catch (const std::bad_alloc&) {
    }
    return nullptr;
}

Errc Call::lend(const bulk::Region& region, na::Access access, ByteWriter& writer, Audience audience,
                const std::shared_ptr<const na::Guests>& guests) noexcept {
    CINNABAR_ASSERT(use_.state == State::made);
    if (goes_along(region, access, core_->options)) {
        std::byte gathered[gathered_bytes_max];
        ConstBytes bytes = region.contiguous();
        if (bytes.empty()) {
            const Bytes copy(gathered, region.bytes());
            region.copy_out(0, copy);
            bytes = copy;
        }
        bulk::describe({{}, {}, bytes}, writer);
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    const std::shared_ptr<na::Transport> far = region.is_far() ? core_->far_lender() : nullptr;
    if (region.is_far() && !far) return Errc::unsupported;
    RpcLend* lend = core_->fences.acquire();
    if (!lend) return Errc::overloaded;
    whole_way_ = true;
    const na::LentTo lent_to = audience == Audience::target ? na::LentTo::one_peer : na::LentTo::anyone;
    Errc result = lend->grant(region, access, far ? far : core_->transport_of(*port_), lent_to);
    if (result == Errc::ok) {
        lend->next = lends_;
        lends_ = lend;
        lend->audience = audience;
        if (audience == Audience::guests) lend->set_guests(guests);
        na::Lease* const lease = &lend->lease();
        bulk::describe({{&lease, 1}, {}, {}, home_for(audience)}, writer);
        return writer.ok() ? Errc::ok : Errc::too_large;
    }
    core_->fences.release(*lend);
    return result;
}

std::uint64_t Call::lent_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (RpcLend* lend = lends_; lend; lend = lend->next) bytes += lend->lease().bytes;
    return bytes;
}

Errc Call::forward_memory(const bulk::RemoteRegion& remote, ByteWriter& writer) noexcept {
    CINNABAR_ASSERT(use_.state == State::made);
    whole_way_ = whole_.forwards = true;
    return bulk::forward(remote, writer);
}

// The address of this process, without which the target cannot forward the memory.
ConstBytes Call::home_for(Audience audience) const noexcept {
    return audience == Audience::target ? ConstBytes() : core_->home_of(*port_);
}

std::size_t Call::lend_bytes(const bulk::Region& region, na::Access access, Audience audience) const noexcept {
    if (goes_along(region, access, core_->options)) {
        static constexpr std::byte none[1]{};
        return bulk::described_bytes({{}, {}, ConstBytes(none, 1)}) - 1 + region.bytes();
    }
    const std::shared_ptr<na::Transport> far = region.is_far() ? core_->far_lender() : nullptr;
    if (region.is_far() && !far) return 0;
    try {
        auto memory = region.memory_on(far ? far : core_->transport_of(*port_));
        if (!memory) return 0;
        na::Lease lease;
        lease.memory = *memory;
        lease.offset = region.offset();
        lease.bytes = region.bytes();
        lease.access = access;
        na::Lease* const only = &lease;
        return bulk::described_bytes({{&only, 1}, {}, {}, home_for(audience)});
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

}  // namespace cinnabar::rpc
