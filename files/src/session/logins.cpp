// SPDX-License-Identifier: BSD-3-Clause
#include "session/logins.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>

namespace cinnabar::files {

std::vector<std::shared_ptr<Session>> Logins::expire() {
    const TimeUs now = clock_.now_us();
    std::vector<std::shared_ptr<Session>> late;
    std::erase_if(connections_, [&](const auto& at) {
        const Entry& entry = at.second;
        if (entry.held || entry.until > now) return false;
        if (entry.is_first()) {
            late.push_back(entry.session);
        } else {
            --entry.session->connections;
        }
        return true;
    });
    return late;
}

MacText Logins::tag_text(const Nonce& client, const Challenge& challenge, const na::Addr& source) const {
    MacText text("cinnabar save 1 challenge");
    text.add(client).add(challenge.nonce).add(challenge.issued_us);
    return std::move(text.add(source.body().connection).add_text(source.to_string()));
}

Result<HelloOut> Logins::hello(const HelloIn& in, const na::Addr& source) const {
    static_assert(protocol_version == 10, "the error names it");
    if (in.version != protocol_version)
        return Error{Errc::unsupported,
                     "the server speaks version 10 of the protocol, and the client another one: use the same release "
                     "of Cinnabar on both sides"};
    HelloOut out;
    out.version = protocol_version;
    out.wants_key = wants_key(source);
    out.challenge.nonce = make_nonce();
    out.challenge.issued_us = clock_.now_us();
    out.challenge.tag = secret_.sign(tag_text(in.nonce, out.challenge, source));
    return out;
}

Result<void> Logins::check(const Challenge& challenge, const Nonce& client, const na::Addr& source) const {
    if (secret_.accepts(challenge.tag, tag_text(client, challenge, source)) &&
        clock_.now_us() - challenge.issued_us < challenge_us)
        return {};
    return Error{Errc::timed_out, "the challenge is not one of this connection, or is too old: log in again"};
}

void Logins::add(std::shared_ptr<Session> session, const na::Addr& source) {
    connections_.emplace(&source.body(), Entry{std::move(session), clock_.now_us() + challenge_us, source, false});
}

Result<LoginOut> Logins::login(const LoginIn& in, const na::Addr& source) {
    const Challenge& challenge = in.challenge;
    CINNABAR_TRY_VOID(check(challenge, in.nonce, source));
    const bool by_key = wants_key(source);
    if (by_key && !key_->accepts_client(in.proof, in.nonce, challenge.nonce))
        return Error{Errc::permission, "the key is not that of the server"};
    if (connections_.contains(&source.body())) return Error{Errc::overloaded, "the connection has a session already"};
    if (connections_.size() >= connections_max) return Error{Errc::overloaded, "too many sessions"};
    LoginOut out;
    out.token = {secret_u64(), secret_u64()};
    out.window_bytes = limits_.window_bytes;
    out.windows_max = limits_.windows_max;
    out.precision = limits_.precision;
    std::optional<Secret> secret;
    if (by_key) {
        out.proof = key_->prove_server(
            {in.nonce, challenge.nonce, out.token, out.window_bytes, out.windows_max, out.precision});
        secret = key_->session_secret(in.nonce, challenge.nonce, out.token);
    }
    auto session = std::make_shared<Session>();
    session->seals = Seals(out.token, std::move(secret));
    session->source = source;
    session->proven = by_key || source.identity() != nullptr;
    add(std::move(session), source);
    return out;
}

// What is refused does not tell whether there is such a session.
Result<JoinOut> Logins::join(const JoinIn& in, const na::Addr& source) {
    CINNABAR_TRY_VOID(check(in.challenge, in.nonce, source));
    if (connections_.contains(&source.body()))
        return Error{Errc::invalid_argument, "the connection has a session already: only a new one can join another"};
    const auto found = std::ranges::find_if(connections_, [&](const auto& at) {
        return at.second.is_first() && at.second.session->seals.token() == in.seal.token;
    });
    if (found == connections_.end() || client_name(found->second.session->source) != client_name(source))
        return Error{Errc::permission, "the call was not made in a session of this client"};
    const auto session = found->second.session;
    CINNABAR_TRY_VOID(session->seals.check(in));
    if (session->connections >= session_connections_max)
        return Error{Errc::overloaded, "the session has 8 connections: use those"};
    if (connections_.size() >= connections_max) return Error{Errc::overloaded, "too many sessions"};
    ++session->connections;
    add(session, source);
    return JoinOut{session->seals.prove_joined(in)};
}

Result<std::shared_ptr<Session>> Logins::find(const Token& token, const na::Addr& source) const {
    const auto found = connections_.find(&source.body());
    if (found == connections_.end() || found->second.session->seals.token() != token)
        return Error{Errc::peer_lost, "no such session, or it has ended: log in again"};
    return found->second.session;
}

Result<std::shared_ptr<Session>> Logins::hold(const Token& token, const na::Addr& source) {
    CINNABAR_TRY(auto session, find(token, source));
    Entry& entry = connections_.find(&source.body())->second;
    if (entry.held) return Error{Errc::busy, "the session is held already"};
    entry.held = true;
    if (entry.is_first()) session->held = true;
    return session;
}

void Logins::leave(const Session& session, const na::Addr& source) {
    const auto found = connections_.find(&source.body());
    if (found == connections_.end() || found->second.is_first()) return;
    if (found->second.session.get() != &session) return;
    --found->second.session->connections;
    connections_.erase(found);
}

void Logins::end(const Session& session) {
    std::erase_if(connections_, [&](const auto& at) { return at.second.session.get() == &session; });
}

}  // namespace cinnabar::files
