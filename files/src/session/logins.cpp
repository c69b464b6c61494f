// SPDX-License-Identifier: BSD-3-Clause
#include "session/logins.hpp"

#include <cinnabar/base/random.hpp>

namespace cinnabar::files {

std::vector<std::shared_ptr<Session>> Logins::expire() {
    const TimeUs now = clock_.now_us();
    std::vector<std::shared_ptr<Session>> late;
    std::erase_if(sessions_, [&](const auto& entry) {
        if (entry.second.session->held || entry.second.until > now) return false;
        late.push_back(entry.second.session);
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
        return Error{
            Errc::unsupported,
            "the server speaks version 10 of the protocol, and the client another one: use the same release of "
            "Cinnabar on both sides"};
    HelloOut out;
    out.version = protocol_version;
    out.wants_key = wants_key(source);
    out.challenge.nonce = make_nonce();
    out.challenge.issued_us = clock_.now_us();
    out.challenge.tag = secret_.sign(tag_text(in.nonce, out.challenge, source));
    return out;
}

Result<LoginOut> Logins::login(const LoginIn& in, const na::Addr& source) {
    const Challenge& challenge = in.challenge;
    const TimeUs now = clock_.now_us();
    if (!secret_.accepts(challenge.tag, tag_text(in.nonce, challenge, source)) ||
        now - challenge.issued_us >= challenge_us)
        return Error{Errc::timed_out, "the challenge is not one of this connection, or is too old: log in again"};
    const bool by_key = wants_key(source);
    if (by_key && !key_->accepts_client(in.proof, in.nonce, challenge.nonce))
        return Error{Errc::permission, "the key is not that of the server"};
    if (sessions_.contains(&source.body())) return Error{Errc::overloaded, "the connection has a session already"};
    if (sessions_.size() >= sessions_max) return Error{Errc::overloaded, "too many sessions"};
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
    sessions_.emplace(&source.body(), Entry{std::move(session), clock_.now_us() + challenge_us});
    return out;
}

Result<std::shared_ptr<Session>> Logins::find(const Token& token, const na::Addr& source) const {
    const auto found = sessions_.find(&source.body());
    if (found == sessions_.end() || found->second.session->seals.token() != token)
        return Error{Errc::peer_lost, "no such session, or it has ended: log in again"};
    return found->second.session;
}

Result<std::shared_ptr<Session>> Logins::hold(const Token& token, const na::Addr& source) {
    CINNABAR_TRY(auto session, find(token, source));
    if (session->held) return Error{Errc::busy, "the session is held already"};
    session->held = true;
    return session;
}

void Logins::end(const Session& session) {
    const auto found = sessions_.find(&session.source.body());
    if (found != sessions_.end() && found->second.session.get() == &session) sessions_.erase(found);
}

}  // namespace cinnabar::files
