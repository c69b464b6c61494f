// SPDX-License-Identifier: BSD-3-Clause
#include "registrar.hpp"

#include <cinnabar/base/random.hpp>

#include <rdma/fi_rma.h>

#include <array>
#include <climits>

namespace cinnabar::ofi {
namespace {

// A random key is taken already: never, or they are short.
constexpr unsigned keys_tried_max = 64;

std::uint64_t bits_of(std::size_t key_bytes) noexcept {
    return key_bytes >= sizeof(std::uint64_t) ? ~std::uint64_t{0} : (std::uint64_t{1} << key_bytes * CHAR_BIT) - 1;
}

}  // namespace

Registrar::Registrar(fid_domain& domain, fid_ep& endpoint, const fi_domain_attr& attributes, bool reads) noexcept
    : domain_(&domain),
      endpoint_(&endpoint),
      mode_(static_cast<std::uint64_t>(attributes.mr_mode)),
      keys_(bits_of(attributes.mr_key_size)),
      local_access_(FI_SEND | FI_RECV | (reads ? FI_READ : 0)) {}

bool Registrar::wants_local() const noexcept { return (mode_ & FI_MR_LOCAL) != 0; }

Errc Registrar::add(const iovec& memory, std::uint64_t access, Registration& out) const noexcept {
    const bool own_keys = (mode_ & FI_MR_PROV_KEY) == 0;
    fid_mr* made = nullptr;
    int failed = 0;
    // Own keys are random: nobody guesses them. Who leaves the choice to the caller refuses one that is taken, also of
    // what only sends and receives.
    for (unsigned tries = 0; tries < keys_tried_max; ++tries) {
        const std::uint64_t key = own_keys ? secret_u64() & keys_ : 0;
        failed = ::fi_mr_reg(domain_, memory.iov_base, memory.iov_len, access, 0, key, 0, &made, nullptr);
        if (failed != -FI_ENOKEY || !own_keys) break;
    }
    if (failed != 0) return errc_of(failed);
    out.reset(made);
    if ((mode_ & (FI_MR_ENDPOINT | FI_MR_RMA_EVENT)) == 0) return Errc::ok;
    failed = ::fi_mr_bind(made, &endpoint_->fid, 0);
    if (failed == 0) failed = ::fi_mr_enable(made);
    if (failed != 0) out.reset();
    return errc_of(failed);
}

Errc Registrar::local(const iovec& memory, Registration& out) const noexcept { return add(memory, local_access_, out); }

Errc Registrar::readable(const iovec& memory, Registration& out, PieceName& name) const noexcept {
    if (const Errc why = add(memory, FI_REMOTE_READ, out); why != Errc::ok) return why;
    if ((mode_ & FI_MR_RAW) == 0) {
        const bool by_address = (mode_ & FI_MR_VIRT_ADDR) != 0;
        name.address = by_address ? reinterpret_cast<std::uintptr_t>(memory.iov_base) : 0;
        name.set_key(::fi_mr_key(out.get()));
        return Errc::ok;
    }
    std::size_t bytes = name.key.size();
    auto* const key = reinterpret_cast<std::uint8_t*>(name.key.data());
    const int failed = ::fi_mr_raw_attr(out.get(), &name.address, key, &bytes, 0);
    if (failed != 0) {
        out.reset();
        return errc_of(failed);  // too_large: longer than any that is known
    }
    name.key_bytes = static_cast<std::uint32_t>(bytes);
    return Errc::ok;
}

Errc Registrar::learn(const PieceName& name, RemoteKey& out) const noexcept {
    out.address = name.address;
    if ((mode_ & FI_MR_RAW) == 0) return name.plain_key(out.key) ? Errc::ok : Errc::protocol;
    if ((mode_ & FI_MR_VIRT_ADDR) == 0) out.address = 0;  // what came is for the key alone
    auto raw = name.key;
    return errc_of(::fi_mr_map_raw(domain_, name.address, reinterpret_cast<std::uint8_t*>(raw.data()), name.key_bytes,
                                   &out.key, 0));
}

void Registrar::forget(const RemoteKey& learnt) const noexcept {
    if ((mode_ & FI_MR_RAW) != 0) (void)::fi_mr_unmap_key(domain_, learnt.key);
}

}  // namespace cinnabar::ofi
