// SPDX-License-Identifier: BSD-3-Clause
// Adds protection to a transport that has none. The first messages of a connection are a TLS 1.3 handshake; all others
// are sealed. Puts, gets and atomics become messages to the owner of the memory. For plugins. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/plugin.hpp>

#include <memory>

namespace cinnabar::tls {

// Opens a transport (the transport below) by the plugin `below` and protects it. The transport below is opened at the
// address `uri` with that plugin's scheme; in all endpoints, `scheme` replaces the plugin's scheme. `scheme` has static
// storage. The options are those of the transport below and CINNABAR_TLS_ADDRESS_OPTIONS (guards_of.hpp). Errors of
// guards_of() and of the transport below; unsupported: the transport below does not keep the order of messages. Blocks
// while it reads files.
[[nodiscard]] CINNABAR_API Result<std::unique_ptr<na::Transport>> open_sealed(const na::Uri& uri,
                                                                              const na::TransportOptions& options,
                                                                              const char* scheme,
                                                                              const na::PluginInfo& below);

}  // namespace cinnabar::tls
