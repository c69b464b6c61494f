// SPDX-License-Identifier: BSD-3-Clause
#include "tls/renewal.hpp"

#include <cinnabar/base/background.hpp>
#include <cinnabar/base/log.hpp>

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

namespace cinnabar::tcp {
namespace {

constexpr std::chrono::seconds look_interval{1};

// What tells one version of the files from another. A new file has another time of its last change, whatever time it
// claims to be of.
std::vector<std::uint64_t> signature_of(const na::TlsOptions& options) {
    std::vector<std::uint64_t> parts;
    for (const std::string* path :
         {&options.key_file, &options.certificate_file, &options.private_key_file, &options.ca_file}) {
        struct stat status {};
        if (path->empty() || ::stat(path->c_str(), &status) != 0) status = {};
        parts.push_back(status.st_dev);
        parts.push_back(status.st_ino);
        parts.push_back(static_cast<std::uint64_t>(status.st_size));
        parts.push_back(static_cast<std::uint64_t>(status.st_ctim.tv_sec));
        parts.push_back(static_cast<std::uint64_t>(status.st_ctim.tv_nsec));
    }
    return parts;
}

}  // namespace

struct RenewedGuards::Watched {
    na::TlsOptions options;
    std::uint64_t key_update_bytes;
    std::vector<std::uint64_t> seen;  // the signature of what is in use; the thread's
    std::mutex mutex;
    std::condition_variable ends;
    std::shared_ptr<const TlsGuards> guards;
    bool over = false;

    [[nodiscard]] std::shared_ptr<const TlsGuards> current() noexcept {
        const std::lock_guard lock(mutex);
        return guards;
    }
    void watch() noexcept;
    void look();
};

Result<std::unique_ptr<RenewedGuards>> RenewedGuards::make(const na::TlsOptions& options,
                                                           std::uint64_t key_update_bytes) {
    auto watched = std::make_shared<Watched>();
    watched->options = options;
    watched->key_update_bytes = key_update_bytes;
    watched->seen = signature_of(options);  // before they are read: what is written meanwhile is read again
    CINNABAR_TRY(watched->guards, TlsGuards::make(options, key_update_bytes));
    auto mine = std::make_unique<std::shared_ptr<Watched>>(watched);
    const auto body = [](void* user) -> void* {
        const std::unique_ptr<std::shared_ptr<Watched>> own(static_cast<std::shared_ptr<Watched>*>(user));
        (*own)->watch();
        return nullptr;
    };
    if (!run_in_background(body, mine.get()))
        return Error(Errc::io, "cannot start the thread that looks for new keys and certificates");
    (void)mine.release();  // the thread's
    return std::unique_ptr<RenewedGuards>(new RenewedGuards(std::move(watched)));
}

RenewedGuards::~RenewedGuards() {
    {
        const std::lock_guard lock(watched_->mutex);
        watched_->over = true;
    }
    watched_->ends.notify_all();
}

Errc RenewedGuards::protect_accepted(na::Stream& stream) const noexcept {
    return watched_->current()->protect_accepted(stream);
}

Errc RenewedGuards::protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept {
    return watched_->current()->protect_dialled(stream, peer);
}

void RenewedGuards::Watched::watch() noexcept {
    std::unique_lock lock(mutex);
    while (!ends.wait_for(lock, look_interval, [this] { return over; })) {
        lock.unlock();
        try {
            look();
        } catch (const std::exception&) {
            // Memory is out: it looks again.
        }
        lock.lock();
    }
}

void RenewedGuards::Watched::look() {
    std::vector<std::uint64_t> now = signature_of(options);
    if (now == seen) return;
    auto renewed = TlsGuards::make(options, key_update_bytes);
    if (!renewed) {
        static constinit LogLimit lines;
        return log_limited(lines, LogLevel::warning, "tcps",
                           "new keys or certificates cannot be used, the old ones stay: %s",
                           renewed.error().message().c_str());
    }
    seen = std::move(now);
    std::shared_ptr<const TlsGuards> next = *std::move(renewed);
    {
        const std::lock_guard lock(mutex);
        guards.swap(next);
    }
    log(LogLevel::info, "tcps", "new keys or certificates are in use from now on");
}

}  // namespace cinnabar::tcp
