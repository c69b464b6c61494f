// SPDX-License-Identifier: BSD-3-Clause
// Conversions: HG_Core's objects are HG's objects with other type names.
#pragma once

#include "context.hpp"
#include "mercury_core.h"

namespace cinnabar::mercury {

inline hg_class* hg(const hg_core_class_t* core) noexcept {
    return reinterpret_cast<hg_class*>(const_cast<hg_core_class_t*>(core));
}
inline hg_context* hg(const hg_core_context_t* core) noexcept {
    return reinterpret_cast<hg_context*>(const_cast<hg_core_context_t*>(core));
}
inline hg_addr_t hg(hg_core_addr_t core) noexcept { return reinterpret_cast<hg_addr_t>(core); }
inline hg_addr_t* hg(hg_core_addr_t* core) noexcept { return reinterpret_cast<hg_addr_t*>(core); }
inline hg_handle_t hg(hg_core_handle_t core) noexcept { return reinterpret_cast<hg_handle_t>(core); }

inline hg_core_class_t* core(hg_class* of) noexcept { return reinterpret_cast<hg_core_class_t*>(of); }
inline hg_core_context_t* core(hg_context* of) noexcept { return reinterpret_cast<hg_core_context_t*>(of); }
inline hg_core_addr_t core(hg_addr_t of) noexcept { return reinterpret_cast<hg_core_addr_t>(of); }
inline hg_core_handle_t core(hg_handle_t of) noexcept { return reinterpret_cast<hg_core_handle_t>(of); }

}  // namespace cinnabar::mercury
