// SPDX-License-Identifier: BSD-3-Clause
// Adds protection to a transport that has none: a TLS 1.3 handshake in the first messages, then sealed messages only;
// puts, gets and atomics become messages to the owner of the memory. For plugins. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/plugin.hpp>

#include <memory>

namespace cinnabar::tls {

// Opens the transport below by the plugin `below`, at this address with its scheme replaced by that of the plugin, and
// protects it. `scheme` has static storage; it replaces the scheme of the transport below in all endpoints. The options
// are those of the transport below, and CINNABAR_TLS_ADDRESS_OPTIONS (guards_of.hpp). Errors of guards_of() and of the
// transport below; unsupported: that one does not keep the order of messages. Blocks while it reads files.
[[nodiscard]] CINNABAR_API Result<std::unique_ptr<na::Transport>> open_sealed(const na::Uri& uri,
                                                                              const na::TransportOptions& options,
                                                                              const char* scheme,
                                                                              const na::PluginInfo& below);

}  // namespace cinnabar::tls
