// SPDX-License-Identifier: BSD-3-Clause
// Why a library or a plugin could not be loaded.
#pragma once

#include <dlfcn.h>

#include <string>

namespace cinnabar {

// What the dynamic loader says of the last failure of this thread, once.
[[nodiscard]] inline std::string loader_text() {
    const char* const text = ::dlerror();
    return text ? text : "no reason given";
}

}  // namespace cinnabar
