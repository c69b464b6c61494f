// SPDX-License-Identifier: BSD-3-Clause
// The calls of the service that make or remove many entries at once, that lend many files, that claim many windows, and
// that add a connection to a session.
#pragma once

#include "session/service.hpp"

namespace cinnabar::files {

// `service` must live until the tasks end.
struct Service::Batches {
    [[nodiscard]] static hl::Task<Result<BatchOut>> make(Service& service, hl::Request<MakeManyIn> request);
    [[nodiscard]] static hl::Task<Result<BatchOut>> remove(Service& service, hl::Request<RemoveManyIn> request);
    [[nodiscard]] static hl::Task<Result<void>> lend_pack(Service& service, hl::Request<LendPackIn> request);
    [[nodiscard]] static hl::Task<Result<ClaimOut>> claim(Service& service, hl::Request<ClaimIn> request);
    [[nodiscard]] static Result<JoinOut> join(Service& service, const hl::Request<JoinIn>& request);
};

}  // namespace cinnabar::files
