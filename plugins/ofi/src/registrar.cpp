// SPDX-License-Identifier: BSD-3-Clause
#include "registrar.hpp"

#include <cinnabar/base/random.hpp>

#include <climits>

namespace cinnabar::ofi {
namespace {

// Tries are needed only if keys are short, so that a random key may be taken already.
constexpr unsigned keys_tried_max = 64;

std::uint64_t bits_of(std::size_t key_bytes) noexcept {
    return key_bytes >= sizeof(std::uint64_t) ? ~std::uint64_t{0} : (std::uint64_t{1} << key_bytes * CHAR_BIT) - 1;
}

}  // namespace

Registrar::Registrar(fid_domain& domain, fid_ep& endpoint, const fi_domain_attr& attributes) noexcept
    : domain_(&domain),
      endpoint_(&endpoint),
      mode_(static_cast<std::uint64_t>(attributes.mr_mode)),
      keys_(bits_of(attributes.mr_key_size)) {}

bool Registrar::wants_local() const noexcept { return (mode_ & FI_MR_LOCAL) != 0; }

Errc Registrar::local(const iovec& memory, Registration& out) const noexcept {
    const bool own_keys = (mode_ & FI_MR_PROV_KEY) == 0;
    fid_mr* made = nullptr;
    int failed = 0;
    // A provider that lets the caller choose keys refuses a key that is taken. So keys are random, and if a key is
    // refused, another one is tried.
    for (unsigned tries = 0; tries < keys_tried_max; ++tries) {
        const std::uint64_t key = own_keys ? secret_u64() & keys_ : 0;
        failed = ::fi_mr_reg(domain_, memory.iov_base, memory.iov_len, FI_SEND | FI_RECV, 0, key, 0, &made, nullptr);
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

}  // namespace cinnabar::ofi
