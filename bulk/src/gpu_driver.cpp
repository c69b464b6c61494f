// SPDX-License-Identifier: BSD-3-Clause
#include "gpu_driver.hpp"

namespace cinnabar::bulk::gpu {

const char* Driver::name_of(Code code) const noexcept {
    const char* name = nullptr;
    if (error_text) {
        name = error_text(code);
    } else if (error_name(code, &name) != success) {
        name = nullptr;
    }
    return name ? name : "unknown error";
}

}  // namespace cinnabar::bulk::gpu
