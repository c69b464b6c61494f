// SPDX-License-Identifier: BSD-3-Clause
#include "openssl.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/loader_text.hpp>

#include <dlfcn.h>

#include <string>
#include <string_view>

namespace cinnabar::tls {
namespace {

constexpr const char* crypto_name = "libcrypto.so.3";
constexpr const char* ssl_name = "libssl.so.3";

struct Loaded {
    OpenSsl functions;
    std::string failure;  // the loader's message; empty: loaded
};

Loaded load_libraries() {
    Loaded loaded;
    void* const crypto = ::dlopen(crypto_name, RTLD_NOW | RTLD_LOCAL);
    void* const ssl = crypto ? ::dlopen(ssl_name, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!ssl) {
        loaded.failure = loader_text();
        return loaded;
    }
    const auto find = [&]<typename F>(std::string_view library, const char* symbol, F& function) {
        function = reinterpret_cast<F>(::dlsym(library == "ssl" ? ssl : crypto, symbol));
        if (!function && loaded.failure.empty()) loaded.failure = loader_text();
    };
#define CINNABAR_OPENSSL_FIND(library, name) find(#library, #name, loaded.functions.name);
    CINNABAR_OPENSSL_FUNCTIONS(CINNABAR_OPENSSL_FIND)
#undef CINNABAR_OPENSSL_FIND
    // Never unloaded: threads may still use the library while the process exits.
    if (loaded.failure.empty() && loaded.functions.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1) {
        loaded.failure = "OPENSSL_init_ssl failed";
    }
    return loaded;
}

const Loaded& loaded_once() {
    static const Loaded loaded = load_libraries();
    return loaded;
}

}  // namespace

Result<void> OpenSsl::load() {
    const Loaded& loaded = loaded_once();
    if (loaded.failure.empty()) return {};
    return Error(Errc::unsupported, "OpenSSL 3 cannot be loaded: install it (Debian: libssl3)", loaded.failure);
}

const OpenSsl& openssl() noexcept {
    const Loaded& loaded = loaded_once();
    CINNABAR_ASSERT(loaded.failure.empty());
    return loaded.functions;
}

Error openssl_error(std::string_view hint, const std::string& subject) {
    const char* const why = openssl().ERR_reason_error_string(openssl().ERR_peek_last_error());
    openssl().ERR_clear_error();
    return Error(Errc::invalid_argument, hint, why ? subject + ": " + why : subject);
}

}  // namespace cinnabar::tls
