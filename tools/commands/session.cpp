// SPDX-License-Identifier: BSD-3-Clause
#include "commands/session.hpp"

#include "commands/reach.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/files/automatic_key.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <algorithm>

namespace cinnabar::tools {
namespace {

// no_such_rpc: the server listens, but does not serve yet; a node listens before its calls are served.
bool is_lost(Errc code) noexcept {
    switch (code) {
        case Errc::no_such_rpc:
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::timed_out:
        case Errc::closed:
        case Errc::shutting_down:
            return true;
        default:
            return false;
    }
}

// Returns whether a client may get this error from the address of a lost server before the server is back. permission:
// a restarted server rejects the old key until the server has published its new key. protocol: another program has the
// port meanwhile. overloaded: all other clients reconnect, too.
bool may_be_not_back_yet(Errc code) {
    return code == Errc::permission || code == Errc::protocol || code == Errc::overloaded;
}

hl::Task<Result<void>> run_over(files::Client& session, const SessionWork& work) {
    Result<void> ended = co_await session.open();
    if (ended) ended = co_await work(session);
    co_await session.close();
    co_return ended;
}

// Closes the sessions in reverse order, because the handlers of `from` use `to`.
hl::Task<Result<void>> run_between(files::Client& from, files::Client& to, const SessionWork& work, bool& from_failed) {
    Result<void> ended = co_await to.open();
    if (ended) {
        ended = co_await from.open();
        from_failed = !ended;
        if (ended) ended = co_await work(to);
    }
    co_await from.close();
    co_await to.close();
    co_return ended;
}

}  // namespace

files::Keyless keyless_with(const hl::Connected& reached, const SessionOptions& options) {
    if (proves_server(reached)) return files::Keyless::proven;
    return !options.insecure && leads_to_loopback(reached) ? files::Keyless::refused : files::Keyless::accepted;
}

Result<hl::Connected> reach_by(const std::string& server, const SessionOptions& options) {
    return reach(server, options.transport, 1, with_key(options.tls, options.key_file));
}

bool ends_all(Errc code) noexcept {
    return is_lost(code) || code == Errc::canceled || code == Errc::bad_signature || code == Errc::protocol;
}

Result<std::optional<files::Key>> find_key(const std::string& server, const SessionOptions& options) {
    if (options.key_file.empty()) return files::find_automatic_key(server);
    CINNABAR_TRY(auto key, files::Key::load(options.key_file));
    return std::optional<files::Key>(std::move(key));
}

Result<void> over_session(const std::string& server, const std::optional<files::Key>& key,
                          const SessionOptions& options, const SessionWork& work, const Interrupt& interrupt) {
    CINNABAR_TRY(const auto reached, reach_by(server, options));
    files::Client session(reached.node, reached.peer, key ? &*key : nullptr, keyless_with(reached, options));
    session.limit_rate(options.bytes_per_second);
    return hl::sync_wait(run_over(session, work), interrupt.token());
}

Result<void> over_sessions(const Ends& ends, files::Client*& from_session, const SessionWork& work,
                           const Interrupt& interrupt, bool& from_failed) {
    from_failed = false;
    CINNABAR_TRY(const auto to_key, find_key(ends.to, ends.to_options));
    CINNABAR_TRY(const auto there, reach_by(ends.to, ends.to_options));
    files::Client to(there.node, there.peer, to_key ? &*to_key : nullptr, keyless_with(there, ends.to_options));
    to.limit_rate(ends.to_options.bytes_per_second);
    from_failed = true;
    CINNABAR_TRY(const auto from_key, find_key(ends.from, ends.from_options));
    CINNABAR_TRY(const auto here, reach_by(ends.from, ends.from_options));
    files::Client from(here.node, here.peer, from_key ? &*from_key : nullptr, keyless_with(here, ends.from_options));
    from_failed = false;
    from_session = &from;
    auto ended = hl::sync_wait(run_between(from, to, work, from_failed), interrupt.token());
    from_session = nullptr;
    return ended;
}

Error as_from_server(const Error& error, const Interrupt& interrupt) {
    if (error.code != Errc::canceled || interrupt.happened()) return error;
    return {Errc::shutting_down, "the server ended while it worked on it: start it and repeat the command"};
}

bool Redial::comes_back_after(const Error& error, bool opened) {
    const auto now = std::chrono::steady_clock::now();
    const bool again = since_.has_value();
    // busy: the server is back, but is still ending the work of an earlier session.
    const bool passes =
        is_lost(error.code) || error.code == Errc::busy || (again && !opened && may_be_not_back_yet(error.code));
    if (span_ <= Seconds(0) || interrupt_.happened() || !passes) return false;
    if (!again) next_ = first_;
    if (!again) since_ = now;
    return now - *since_ < span_;
}

bool Redial::wait() {
    const Seconds left = *since_ + span_ - std::chrono::steady_clock::now();
    const double part = 0.5 + static_cast<double>(secret_u64() % 1024) / 2048;
    const Seconds delay = std::max(Seconds(0), std::min<Seconds>(next_ * part, left));
    next_ = std::min(next_ * 2, longest_);
    return !interrupt_.wait_for(delay);
}

}  // namespace cinnabar::tools
