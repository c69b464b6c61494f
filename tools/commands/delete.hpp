// SPDX-License-Identifier: BSD-3-Clause
// --delete: removes what the folders of a command have on the receiving side and not in its sources, once everything
// else of the command has succeeded. If anything has failed, nothing is removed, and that is reported. One thread.
#pragma once

#include "commands/commands.hpp"
#include "commands/extraneous.hpp"
#include "commands/transfer.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/root.hpp>

#include <string>

namespace cinnabar::tools {

// For `cinnabar save`: in the folders on the server, over a session of its own. A lost server is redialled, as for
// files.
void delete_there(const std::string& server, const SaveOptions& options, const SourceNames& names, Report& report,
                  ProgressBar& bar, const Interrupt& interrupt);

// For `cinnabar fetch`: in the folders below `into`; null: a dry run without a target folder.
void delete_here(const files::Root* into, const FetchOptions& options, const SourceNames& names, Report& report,
                 const Interrupt& interrupt);

}  // namespace cinnabar::tools
