// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar key` and `cinnabar cert`, and the options of other commands that use what these make.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/na/types.hpp>

#include <CLI/CLI.hpp>

#include <functional>

namespace cinnabar::tools::security {

// Adds both. `run` is set once the command line was read and asks for one.
void add_commands(CLI::App& app, std::function<ExitCode()>& run);

// --cert, --cert-key, --ca, --crl and --peer-name, for addresses of tcps.
void add_certificate_options(CLI::App& command, na::TlsOptions& tls);
// The same and --key-file, of a command that has no other use for that.
void add_tls_options(CLI::App& command, na::TlsOptions& tls);

}  // namespace cinnabar::tools::security
