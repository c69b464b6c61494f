// SPDX-License-Identifier: BSD-3-Clause
// --delete: when all else of a command has succeeded, removes from the command's folders on the receiving side all
// entries that the sources do not have. If anything has failed, removes nothing, and reports so. One thread.
#pragma once

#include "commands/commands.hpp"
#include "commands/extraneous.hpp"
#include "commands/transfer.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/root.hpp>

#include <string>

namespace cinnabar::tools {

// Removes extraneous entries in the folders on the server, for `cinnabar save`, over a session of its own. Redials a
// lost server, as for files.
void delete_there(const std::string& server, const SaveOptions& options, const SourceNames& names, Report& report,
                  ProgressBar& bar, const Interrupt& interrupt);

// Removes extraneous entries below `into`, for `cinnabar fetch`; null: a dry run without a target folder.
void delete_here(const files::Root* into, const FetchOptions& options, const SourceNames& names, Report& report,
                 const Interrupt& interrupt);

}  // namespace cinnabar::tools
