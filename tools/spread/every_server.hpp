// SPDX-License-Identifier: BSD-3-Clause
// Does something at each server of a group, at some servers at once, so that a large group does not take all
// descriptors. One thread.
#pragma once

#include "spread/sessions.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace cinnabar::tools::spread {

using ServerWork = std::function<hl::Task<Result<void>>(const Server& server, files::Client& session)>;

struct Asked {
    std::optional<Error> lost;   // why the first server was lost: it could not be reached, or its work failed
    std::optional<Error> ended;  // what ended everything before all servers were asked, for example an interrupt
};

// Reports each server that is lost, and goes on with the others. An exception of `work` ends everything.
[[nodiscard]] Asked at_every_server(const std::vector<Server>& servers, const SessionOptions& options,
                                    const Interrupt& interrupt, Report& report, const ServerWork& work);

}  // namespace cinnabar::tools::spread
