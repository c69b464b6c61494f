// SPDX-License-Identifier: BSD-3-Clause
// The reason why a library or a plugin could not be loaded.
#pragma once

#include <dlfcn.h>

#include <string>

namespace cinnabar {

// The dynamic loader's message on the last failure in this thread; returned only once.
[[nodiscard]] inline std::string loader_text() {
    const char* const text = ::dlerror();
    return text ? text : "no reason given";
}

}  // namespace cinnabar
