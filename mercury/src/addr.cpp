// SPDX-License-Identifier: BSD-3-Clause
#include "class.hpp"
#include "errors.hpp"
#include "log.hpp"

#include <cinnabar/na/uri.hpp>

#include <algorithm>

using namespace cinnabar;
using mercury::failed;
using mercury::guarded;

namespace cinnabar::mercury {
namespace {

// Whether an address such as "shm://" can be listened on but names no peer. Networks inside one process need no name.
bool names_nobody(const std::string& endpoint) {
    const auto uri = na::Uri::parse(endpoint);
    return uri && (*uri).host.empty() && (*uri).scheme != "self" && (*uri).scheme != "sim";
}

}  // namespace

hg_return_t hand_out(hg_class& owner, na::Addr made, hg_addr_t* out) noexcept {
    return guarded([&] {
        *out = new hg_addr{{std::move(made)}, &owner};
        ++owner.addrs;
        return HG_SUCCESS;
    });
}

hg_return_t look_up(const hg_class& owner, const char* name, na::Addr& out) noexcept {
    return guarded([&] {
        auto text = to_core(name);
        if (!text) {
            const hg_return_t why = failed("HG_Addr_lookup", text.error());
            return text.code() == Errc::unsupported ? HG_PROTONOSUPPORT : why;
        }
        auto parsed = na::Addr::parse(*text);
        if (!parsed) return failed("HG_Addr_lookup", parsed.error());
        const auto& endpoints = (*parsed).body().endpoints;
        if (std::any_of(endpoints.begin(), endpoints.end(), names_nobody)) {
            return failed("HG_Addr_lookup: the address names no peer: add a host or a name behind ://", HG_INVALID_ARG);
        }
        const auto& transports = owner.engine->transports();
        const bool reached = std::any_of(transports.begin(), transports.end(), [&](const auto& transport) {
            return std::any_of(endpoints.begin(), endpoints.end(),
                               [&](const std::string& endpoint) { return transport->reaches(endpoint); });
        });
        if (!reached)
            return failed("HG_Addr_lookup: the class was not opened on a network of that kind", HG_PROTONOSUPPORT);
        out = *std::move(parsed);
        return HG_SUCCESS;
    });
}

}  // namespace cinnabar::mercury

hg_return_t HG_Addr_lookup2(hg_class_t* hg_class, const char* name, hg_addr_t* addr) {
    if (!hg_class || !name || !addr) return HG_INVALID_ARG;
    na::Addr found;
    const hg_return_t looked = mercury::look_up(*hg_class, name, found);
    return looked == HG_SUCCESS ? mercury::hand_out(*hg_class, std::move(found), addr) : looked;
}

hg_return_t HG_Addr_free(hg_class_t* hg_class, hg_addr_t addr) {
    if (!hg_class) return HG_INVALID_ARG;
    if (!addr) return HG_SUCCESS;
    delete addr;
    --hg_class->addrs;
    return HG_SUCCESS;
}

hg_return_t HG_Addr_set_remove(hg_class_t* hg_class, hg_addr_t addr) {
    return hg_class && addr ? HG_SUCCESS : HG_INVALID_ARG;
}

hg_return_t HG_Addr_self(hg_class_t* hg_class, hg_addr_t* addr) {
    if (!hg_class || !addr) return HG_INVALID_ARG;
    return guarded([&] { return mercury::hand_out(*hg_class, hg_class->self(), addr); });
}

hg_return_t HG_Addr_dup(hg_class_t* hg_class, hg_addr_t addr, hg_addr_t* copy) {
    if (!hg_class || !addr || !copy) return HG_INVALID_ARG;
    return mercury::hand_out(*hg_class, addr->addr, copy);
}

uint8_t HG_Addr_cmp(hg_class_t*, hg_addr_t one, hg_addr_t other) {
    if (one == other) return HG_TRUE;
    if (!one || !other) return HG_FALSE;
    const bool same_context = one->addr.body().context == other->addr.body().context;
    const bool both_me = same_context && one->owner->is_me(one->addr) && one->owner->is_me(other->addr);
    return both_me || mercury::same_peer(one->addr, other->addr) ? HG_TRUE : HG_FALSE;
}

hg_return_t HG_Addr_to_string(hg_class_t* hg_class, char* text, hg_size_t* bytes, hg_addr_t addr) {
    if (!hg_class || !bytes || !addr) return HG_INVALID_ARG;
    return guarded([&] {
        // If the class has called itself, `addr` is the address of a session, which is useless to others. So the
        // class's own address is printed.
        const bool me = hg_class->network->listen && hg_class->is_me(addr->addr);
        const na::Addr known = me ? hg_class->known_as(addr->addr.body().context) : addr->addr;
        return mercury::give_text(mercury::printed(*hg_class->network, known), text, bytes);
    });
}
