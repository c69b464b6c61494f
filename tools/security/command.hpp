// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar key` and `cinnabar cert`, and the TLS options of other commands.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/na/types.hpp>

#include <functional>

// CLI11's headers are heavy, so only files that add options include them.
namespace CLI {
class App;
}

namespace cinnabar::tools::security {

// Adds both commands. When the command line asks for one, `run` is set.
void add_commands(CLI::App& app, std::function<ExitCode()>& run);

// --cert, --cert-key, --ca, --crl and --peer-name, for addresses of tcps, ofis and verbss.
void add_certificate_options(CLI::App& command, na::TlsOptions& tls);
// The options above and --key-file, for a command without a --key-file of its own.
void add_tls_options(CLI::App& command, na::TlsOptions& tls);

}  // namespace cinnabar::tools::security
