// SPDX-License-Identifier: BSD-3-Clause
#include "rdma_library.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/loader_text.hpp>

#include <dlfcn.h>

#include <string>
#include <string_view>

namespace cinnabar::verbs {
namespace {

// librdmacm needs libibverbs, and device drivers look for it by this name.
constexpr const char* verbs_name = "libibverbs.so.1";
constexpr const char* manager_name = "librdmacm.so.1";

struct Loaded {
    RdmaLibrary functions;
    std::string failure;  // the loader's message; empty: loaded
};

Loaded load_libraries() {
    Loaded loaded;
    void* const devices = ::dlopen(verbs_name, RTLD_NOW | RTLD_LOCAL);
    void* const manager = devices ? ::dlopen(manager_name, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!manager) {
        loaded.failure = loader_text();
        return loaded;
    }
    const auto find = [&]<typename F>(std::string_view prefix, const char* symbol, F& function) {
        function = reinterpret_cast<F>(::dlsym(prefix == "rdma" ? manager : devices, symbol));
        if (!function && loaded.failure.empty()) loaded.failure = loader_text();
    };
#define CINNABAR_RDMA_FIND(prefix, name) find(#prefix, #prefix "_" #name, loaded.functions.name);
    CINNABAR_RDMA_FUNCTIONS(CINNABAR_RDMA_FIND)
#undef CINNABAR_RDMA_FIND
    return loaded;
}

const Loaded& loaded_once() {
    static const Loaded loaded = load_libraries();
    return loaded;
}

}  // namespace

Result<void> RdmaLibrary::load() {
    const Loaded& loaded = loaded_once();
    if (loaded.failure.empty()) return {};
    return Error(Errc::unsupported, "rdma-core cannot be loaded: install it (Debian: librdmacm1, ibverbs-providers)",
                 loaded.failure);
}

const RdmaLibrary& rdma() noexcept {
    const Loaded& loaded = loaded_once();
    CINNABAR_ASSERT(loaded.failure.empty());
    return loaded.functions;
}

}  // namespace cinnabar::verbs
