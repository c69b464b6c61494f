// SPDX-License-Identifier: BSD-3-Clause
#include "renewal.hpp"

#include "kernel.hpp"
#include "stream.hpp"

#include <cinnabar/base/log.hpp>

#include <mutex>

namespace cinnabar::tls {

struct RenewedGuards::InUse {
    na::TlsOptions options;
    TlsTuning tuning;
    std::mutex mutex;
    std::shared_ptr<const TlsGuards> guards;
    std::mutex listener_mutex;  // held while the listener is called
    void (*renewed)(void* user) = nullptr;
    void* user = nullptr;

    [[nodiscard]] std::shared_ptr<const TlsGuards> current() noexcept {
        const std::lock_guard lock(mutex);
        return guards;
    }
    [[nodiscard]] bool renew();
};

Result<std::unique_ptr<RenewedGuards>> RenewedGuards::make(const na::TlsOptions& options, const TlsTuning& tuning) {
    auto files = std::make_unique<FileWatch>(std::vector{options.key_file, options.certificate_file,
                                                         options.private_key_file, options.ca_file, options.crl_file});
    auto in_use = std::make_shared<InUse>();
    in_use->options = options;
    in_use->tuning = tuning;
    CINNABAR_TRY(in_use->guards, TlsGuards::make(options, tuning));
    CINNABAR_TRY_VOID(files->start([in_use] { return in_use->renew(); }));
    return std::unique_ptr<RenewedGuards>(new RenewedGuards(std::move(in_use), std::move(files)));
}

Errc RenewedGuards::protect_accepted(na::Stream& stream) const noexcept {
    return in_use_->current()->protect_accepted(stream);
}

Errc RenewedGuards::protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept {
    return in_use_->current()->protect_dialled(stream, peer);
}

std::unique_ptr<TlsStream> RenewedGuards::over(Wire& wire, const na::Addr* dialled) const noexcept {
    return in_use_->current()->over(wire, dialled);
}

bool RenewedGuards::knows(const na::StreamGuard& guard) const noexcept {
    return static_cast<const TlsStream&>(guard).known_to(*in_use_->current());
}

void RenewedGuards::tell_of_renewals(void (*renewed)(void* user), void* user) noexcept {
    const std::lock_guard lock(in_use_->listener_mutex);
    in_use_->renewed = renewed;
    in_use_->user = user;
}

std::string RenewedGuards::diagnosis() const {
    return std::string("TLS 1.3 in user space, by OpenSSL ") + openssl().OpenSSL_version(OPENSSL_VERSION_STRING) +
           (kernel_has_tls() ? "; the kernel has TLS as well, which is not used" : "; the kernel has no TLS");
}

bool RenewedGuards::InUse::renew() {
    auto made = TlsGuards::make(options, tuning);
    if (!made) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::warning, LogModule::named(tuning.scheme.name),
                    {transport_field(tuning.scheme.name), error_field(made.error().code)},
                    "new keys or certificates cannot be used, the old ones stay: %s", made.error().message().c_str());
        return false;
    }
    std::shared_ptr<const TlsGuards> next = *std::move(made);
    {
        const std::lock_guard lock(mutex);
        guards.swap(next);
    }
    log(LogLevel::info, LogModule::named(tuning.scheme.name), "new keys or certificates are in use from now on");
    const std::lock_guard lock(listener_mutex);
    if (renewed) renewed(user);
    return true;
}

}  // namespace cinnabar::tls
