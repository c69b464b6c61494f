// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_library.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/loader_text.hpp>

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace cinnabar::ofi {
namespace {

constexpr const char* library_name = "libfabric.so.1";

struct Loaded {
    FabricLibrary functions;
    std::string failure;  // the loader's message; empty: loaded
};

// Looks up a function. The symbol version must match the headers, because structures differ between versions. CMake
// reads the version from the library at build time; if CMake cannot, the default version is used.
template <typename F>
bool find(void* object, const char* name, const char* version, F& function) noexcept {
    void* const found = *version ? ::dlvsym(object, name, version) : ::dlsym(object, name);
    function = reinterpret_cast<F>(found);
    return found != nullptr;
}

Loaded load_library() {
    Loaded loaded;
    const SignalDispositions keep;
    void* const object = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        loaded.failure = loader_text();
        return loaded;
    }
    FabricLibrary& library = loaded.functions;
    const bool whole = find(object, "fi_getinfo", CINNABAR_FABRIC_getinfo_VERSION, library.getinfo) &&
                       find(object, "fi_freeinfo", CINNABAR_FABRIC_getinfo_VERSION, library.freeinfo) &&
                       find(object, "fi_dupinfo", CINNABAR_FABRIC_getinfo_VERSION, library.dupinfo) &&
                       find(object, "fi_fabric", CINNABAR_FABRIC_fabric_VERSION, library.fabric) &&
                       find(object, "fi_strerror", "", library.strerror);
    if (!whole) loaded.failure = loader_text();
    return loaded;  // never unloaded: threads of providers may run in it
}

const Loaded& loaded_once() {
    static const Loaded loaded = load_library();
    return loaded;
}

bool same(const struct sigaction& one, const struct sigaction& other) noexcept {
    return one.sa_flags == other.sa_flags && one.sa_sigaction == other.sa_sigaction;
}

}  // namespace

Result<const FabricLibrary*> FabricLibrary::load() {
    const Loaded& loaded = loaded_once();
    if (!loaded.failure.empty()) {
        return Error(Errc::unsupported, "libfabric cannot be loaded: install it (Debian: libfabric1)", loaded.failure);
    }
    return &loaded.functions;
}

const FabricLibrary& fabric_library() noexcept {
    const Loaded& loaded = loaded_once();
    CINNABAR_ASSERT(loaded.failure.empty());
    return loaded.functions;
}

SignalDispositions::SignalDispositions() noexcept {
    for (int signal = 1; signal < NSIG; ++signal) {
        Saved& saved = saved_[static_cast<std::size_t>(signal)];
        saved.known = ::sigaction(signal, nullptr, &saved.action) == 0;
    }
}

SignalDispositions::~SignalDispositions() {
    for (int signal = 1; signal < NSIG; ++signal) {
        const Saved& saved = saved_[static_cast<std::size_t>(signal)];
        struct sigaction now = {};
        if (!saved.known || ::sigaction(signal, nullptr, &now) != 0 || same(now, saved.action)) continue;
        (void)::sigaction(signal, &saved.action, nullptr);
    }
}

}  // namespace cinnabar::ofi
