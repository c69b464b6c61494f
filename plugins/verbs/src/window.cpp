// SPDX-License-Identifier: BSD-3-Clause
#include "window.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/random.hpp>

#include <cstring>

namespace cinnabar::verbs {

void WindowDeleter::operator()(ibv_mw* window) const noexcept {
    if (const int why = ::ibv_dealloc_mw(window); why != 0) {
        log(LogLevel::warning, "verbs", "the device cannot free a memory window: %s", std::strerror(why));
    }
}

Window make_window(ibv_pd& domain) noexcept { return Window(::ibv_alloc_mw(&domain, IBV_MW_TYPE_2)); }

std::uint32_t bound_key(const ibv_mw& window) noexcept {
    constexpr std::uint32_t low = 0xff;
    const auto step = static_cast<std::uint32_t>(secret_u64() % low) + 1;
    return (window.rkey & ~low) | ((window.rkey + step) & low);
}

void build_bind(ibv_mw& window, const KeySegment& segment, ibv_mr& registration, unsigned access,
                ibv_send_wr& out) noexcept {
    out = {};
    out.opcode = IBV_WR_BIND_MW;
    out.bind_mw.mw = &window;
    out.bind_mw.rkey = segment.rkey;
    out.bind_mw.bind_info = {&registration, segment.address, segment.bytes, access};
}

}  // namespace cinnabar::verbs
