// SPDX-License-Identifier: BSD-3-Clause
// Resolves host names in threads of its own, so that a silent name server blocks no context. At most four threads per
// process, started when needed. Answers are cached for ten seconds, failures for one second (docs/limits.md).
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>

#include <span>
#include <vector>

namespace cinnabar::na {

struct HostLookup;  // a look-up that is under way

// A request to resolve host names; embedded in a dial. Owner of the context only.
class CINNABAR_API NameQuestion {
  public:
    // Called as the owner of the context. `why`: ok, bad_address or out_of_memory; `found` is empty unless ok.
    using Answered = void (*)(NameQuestion& self, Errc why, std::vector<SocketAddress> found) noexcept;

    NameQuestion() = default;
    ~NameQuestion() { abandon(); }
    NameQuestion(const NameQuestion&) = delete;
    NameQuestion& operator=(const NameQuestion&) = delete;

    // Resolves the hosts of all `names`, in their order. ok: the answer was cached and is in `found`. again: `answered`
    // is called later, through host.submit, unless abandon() is called first. bad_address: the failure was cached.
    // overloaded: too many look-ups are waiting, or no thread can be started. out_of_memory.
    [[nodiscard]] Errc ask(PortHost& host, std::span<const Uri> names, std::vector<SocketAddress>& found) noexcept;
    // Gives up the question: from now on, `answered` is not called, and the host is not used. Never waits for a name
    // server.
    void abandon() noexcept;

    Answered answered = nullptr;
    void* user = nullptr;

  private:
    friend struct HostLookup;
    HostLookup* lookup_ = nullptr;
};

// For tests: replaces look_host_up() in the resolver's threads; null restores it. Clears the cache.
using HostLookupFunction = Result<std::vector<SocketAddress>> (*)(const std::string& name);
CINNABAR_API void set_host_lookup(HostLookupFunction function) noexcept;

}  // namespace cinnabar::na
