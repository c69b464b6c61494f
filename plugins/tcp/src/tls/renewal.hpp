// SPDX-License-Identifier: BSD-3-Clause
// The guards of a transport whose files change while it is open: keys are added and taken away, certificates replaced.
// A thread looks at the files each second, so that no loop waits for a disk. Once they have changed and can be used,
// handshakes that begin later go by what is in them now; sessions that are there go on. Files that cannot be used are
// told in the log, those from before stay in use, and each second they are tried again. Any thread.
#pragma once

#include "tls/guards.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar::tcp {

class RenewedGuards final : public StreamGuards {
  public:
    // Errors of TlsGuards::make; io: no thread can be made.
    [[nodiscard]] static Result<std::unique_ptr<RenewedGuards>> make(const na::TlsOptions& options,
                                                                     std::uint64_t key_update_bytes);
    // Does not wait for a disk that the thread may be waiting for.
    ~RenewedGuards() override;
    RenewedGuards(const RenewedGuards&) = delete;
    RenewedGuards& operator=(const RenewedGuards&) = delete;

    [[nodiscard]] Errc protect_accepted(na::Stream& stream) const noexcept override;
    [[nodiscard]] Errc protect_dialled(na::Stream& stream, const na::Addr& peer) const noexcept override;

  private:
    struct Watched;  // also the thread's
    explicit RenewedGuards(std::shared_ptr<Watched> watched) noexcept : watched_(std::move(watched)) {}
    std::shared_ptr<Watched> watched_;
};

}  // namespace cinnabar::tcp
