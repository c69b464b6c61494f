// SPDX-License-Identifier: BSD-3-Clause
// Sessions of a command with a server, and redialling a lost server. One thread.
#pragma once

#include "commands/commands.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/task.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace cinnabar::tools {

// Whether an error ends the session, and so everything that is still to be done.
[[nodiscard]] bool ends_all(Errc code) noexcept;

// Returns the key to use: from --key-file, otherwise the key that a server of this user has published; empty: there is
// no key. Errors: as Key::load().
[[nodiscard]] Result<std::optional<files::Key>> find_key(const std::string& server, const SessionOptions& options);

// As reach(), by the options of a session.
[[nodiscard]] Result<hl::Connected> reach_by(const std::string& server, const SessionOptions& options);

// Returns whether to use a server that requires no key. A loopback server of this user requires and publishes a key,
// unless it runs with --insecure. So a loopback server that requires no key is refused, unless this command runs with
// --insecure, too, or the transport verifies the server's identity.
[[nodiscard]] files::Keyless keyless_with(const hl::Connected& reached, const SessionOptions& options);

// Opens a session, runs `work` with it, and closes it. Returns the first error.
using SessionWork = std::function<hl::Task<Result<void>>(files::Client& session)>;
[[nodiscard]] Result<void> over_session(const std::string& server, const std::optional<files::Key>& key,
                                        const SessionOptions& options, const SessionWork& work,
                                        const Interrupt& interrupt);

// over_sessions opens a session to each of two servers, and runs `work` with the session to `to`. While `work` runs,
// `from_session` is the session to `from`. `from_failed` is set if the session to `from` could not be opened.
struct Ends {
    std::string from;
    std::string to;
    SessionOptions from_options;
    SessionOptions to_options;
};
[[nodiscard]] Result<void> over_sessions(const Ends& ends, files::Client*& from_session, const SessionWork& work,
                                         const Interrupt& interrupt, bool& from_failed);

// Returns shutting_down for `canceled`, unless this command was interrupted; returns any other error unchanged. A
// server that ends while it works on a call answers `canceled`, as if this side had canceled the call.
[[nodiscard]] Error as_from_server(const Error& error, const Interrupt& interrupt);

// Backoff for redialling a lost server: 0.1 s, doubling up to 5 s, each delay multiplied by a random factor between 0.5
// and 1, so that many clients do not reconnect at once. Gives up `seconds` after the first failure since the start or
// since reset().
class Redial {
  public:
    Redial(double seconds, const Interrupt& interrupt) : span_(seconds), interrupt_(interrupt) {}
    // Returns whether to redial after a session has ended with `error`: whether the error may be temporary, and there
    // is time left. `opened`: the session was open before.
    [[nodiscard]] bool comes_back_after(const Error& error, bool opened);
    // Waits for the next delay. False: the command was interrupted.
    [[nodiscard]] bool wait();
    void reset() { since_.reset(); }

  private:
    using Seconds = std::chrono::duration<double>;
    static constexpr Seconds first_{0.1};
    static constexpr Seconds longest_{5};
    const Seconds span_;
    const Interrupt& interrupt_;
    std::optional<std::chrono::steady_clock::time_point> since_;
    Seconds next_ = first_;
};

}  // namespace cinnabar::tools
