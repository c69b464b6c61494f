// SPDX-License-Identifier: BSD-3-Clause
// A session of a command with a server, and when a lost one is dialled again. One thread.
#pragma once

#include "commands/commands.hpp"
#include "terminal/interrupt.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/hl/task.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace cinnabar::tools {

// Whether an error ends the session, and with it all that is still to be done.
[[nodiscard]] bool ends_all(Errc code) noexcept;

// The key to prove: that of --key-file, or the one that a server of this user made, or none. Errors of Key::load.
[[nodiscard]] Result<std::optional<files::Key>> find_key(const std::string& server, const SessionOptions& options);

// Opens a session, does `work` over it, and closes it. The errors of both.
using SessionWork = std::function<hl::Task<Result<void>>(files::Client& session)>;
[[nodiscard]] Result<void> over_session(const std::string& server, const std::optional<files::Key>& key,
                                        const SessionOptions& options, const SessionWork& work,
                                        const Interrupt& interrupt);

// The same with a session to each of two servers: `work` gets the one to `to`; `from_session` is the one to `from`
// while `work` runs. `from_failed`: the error came from `from`, and nothing was opened.
struct Ends {
    std::string from;
    std::string to;
    SessionOptions from_options;
    SessionOptions to_options;
};
[[nodiscard]] Result<void> over_sessions(const Ends& ends, files::Client*& from_session, const SessionWork& work,
                                         const Interrupt& interrupt, bool& from_failed);

// Waits before a lost server is dialled again: 0.1 s, then twice as long each time, 5 s at most, and half of it at
// least, by chance, so that many clients do not come at once. For `seconds` in all, since the server was lost or
// reset().
class Redial {
  public:
    Redial(double seconds, const Interrupt& interrupt) : span_(seconds), interrupt_(interrupt) {}
    // Whether a session that ended so may go on later, and there is time.
    [[nodiscard]] bool comes_back_after(const Error& error);
    // False: interrupted meanwhile.
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
