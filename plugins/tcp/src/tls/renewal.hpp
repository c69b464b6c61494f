// SPDX-License-Identifier: BSD-3-Clause
// The guards of a transport whose files change while it is open: keys are added and taken away, certificates replaced
// and revoked. A thread looks at the files each second. Once they have changed and can be used, handshakes that begin
// later go by what is in them now, and sessions end whose other side has proven what is no longer good. Files that
// cannot be used are told in the log, those from before stay in use, and each second they are tried again. Any thread.
#pragma once

#include "tls/guards.hpp"

#include <cinnabar/base/file_watch.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cinnabar::tcp {

class RenewedGuards final : public StreamGuards {
  public:
    // Errors of TlsGuards::make; io: no thread can be made.
    [[nodiscard]] static Result<std::unique_ptr<RenewedGuards>> make(const na::TlsOptions& options,
                                                                     const TlsTuning& tuning);

    [[nodiscard]] Errc protect_accepted(na::Stream& stream) const noexcept override;
    [[nodiscard]] Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept override;
    [[nodiscard]] bool knows(const na::StreamGuard& guard) const noexcept override;
    void tell_of_renewals(void (*renewed)(void* user), void* user) noexcept override;
    [[nodiscard]] std::string diagnosis() const override;

  private:
    struct InUse;  // also the thread's
    RenewedGuards(std::shared_ptr<InUse> in_use, std::unique_ptr<FileWatch> files) noexcept
        : in_use_(std::move(in_use)), files_(std::move(files)) {}
    std::shared_ptr<InUse> in_use_;
    std::unique_ptr<FileWatch> files_;
};

}  // namespace cinnabar::tcp
