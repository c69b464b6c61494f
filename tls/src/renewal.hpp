// SPDX-License-Identifier: BSD-3-Clause
// Reloads the keys and certificates of a transport while it is open. A thread (base/file_watch.hpp) checks the files
// every second. If the files have changed and are valid, new handshakes use the new keys and certificates, and sessions
// end if their peer was authenticated by a key that is gone or by a certificate that is revoked. If the files are
// invalid, this is logged, the old keys and certificates stay in use, and loading is tried again every second. Any
// thread.
#pragma once

#include "guards.hpp"

#include <cinnabar/base/file_watch.hpp>
#include <cinnabar/na/session/stream_guards.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cinnabar::tls {

class RenewedGuards final : public na::StreamGuards {
  public:
    // Errors of TlsGuards::make; io: the thread cannot be started.
    [[nodiscard]] static Result<std::unique_ptr<RenewedGuards>> make(const na::TlsOptions& options,
                                                                     const TlsTuning& tuning);

    [[nodiscard]] Errc protect_accepted(na::Stream& stream) const noexcept override;
    [[nodiscard]] Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept override;
    // As TlsGuards::over.
    [[nodiscard]] std::unique_ptr<TlsStream> over(Wire& wire, const na::Addr* dialled) const noexcept;
    [[nodiscard]] bool knows(const na::StreamGuard& guard) const noexcept override;
    void tell_of_renewals(void (*renewed)(void* user), void* user) noexcept override;
    [[nodiscard]] std::string diagnosis() const override;

  private:
    struct InUse;  // shared with the thread
    RenewedGuards(std::shared_ptr<InUse> in_use, std::unique_ptr<FileWatch> files) noexcept
        : in_use_(std::move(in_use)), files_(std::move(files)) {}
    std::shared_ptr<InUse> in_use_;
    std::unique_ptr<FileWatch> files_;
};

}  // namespace cinnabar::tls
