// SPDX-License-Identifier: BSD-3-Clause
// Host names, looked up by threads of their own: a name server that is silent for half a minute stops no context. At
// most four threads, which start when they are needed, serve the process; answers are kept for ten seconds, failures
// for one. docs/limits.md.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>

#include <span>
#include <vector>

namespace cinnabar::na {

struct HostLookup;  // one that is under way

// Asks where names can be dialled; embedded in a dial. Owner of the context only.
class CINNABAR_API NameQuestion {
  public:
    // Called as the owner of the context. `why` is ok; or bad_address or out_of_memory, and nothing is found.
    using Answered = void (*)(NameQuestion& self, Errc why, std::vector<SocketAddress> found) noexcept;

    NameQuestion() = default;
    ~NameQuestion() { abandon(); }
    NameQuestion(const NameQuestion&) = delete;
    NameQuestion& operator=(const NameQuestion&) = delete;

    // Of all these endpoints, in their order. ok: it is known already and in `found`. again: `answered` comes later,
    // through host.submit, unless abandon() comes first. bad_address: known to have no address. overloaded: too many
    // look-ups wait, or there is no thread for them. out_of_memory.
    [[nodiscard]] Errc ask(PortHost& host, std::span<const Uri> names, std::vector<SocketAddress>& found) noexcept;
    // Nothing comes any more, and the host is not touched any more. Never waits for a name server.
    void abandon() noexcept;

    Answered answered = nullptr;
    void* user = nullptr;

  private:
    friend struct HostLookup;
    HostLookup* lookup_ = nullptr;
};

// For tests: what is asked in place of look_host_up(), on a thread of the resolver; null restores it. Forgets what is
// known.
using HostLookupFunction = Result<std::vector<SocketAddress>> (*)(const std::string& name);
CINNABAR_API void set_host_lookup(HostLookupFunction function) noexcept;

}  // namespace cinnabar::na
