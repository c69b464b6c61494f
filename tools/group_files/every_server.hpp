// SPDX-License-Identifier: BSD-3-Clause
// Runs a task at each server of a group. The number of servers at once is limited, so that a large group does not use
// up all descriptors. One thread.
#pragma once

#include "group_files/sessions.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace cinnabar::tools::group_files {

using ServerWork = std::function<hl::Task<Result<void>>(const Server& server, files::Client& session)>;

struct Asked {
    std::optional<Error> lost;   // why the first lost server was lost: it could not be reached, or its work failed
    std::optional<Error> ended;  // why the run ended before all servers were asked, for example an interrupt
};

// Reports each server that is lost, and continues with the others. An exception of `work` ends everything.
[[nodiscard]] Asked at_every_server(const std::vector<Server>& servers, const SessionOptions& options,
                                    const Interrupt& interrupt, Report& report, const ServerWork& work);

}  // namespace cinnabar::tools::group_files
