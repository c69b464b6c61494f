// SPDX-License-Identifier: BSD-3-Clause
#include "session/gate.hpp"

#include <cinnabar/base/random.hpp>

namespace cinnabar::tools {
std::vector<std::shared_ptr<Session>> Gate::expire() {
    const TimeUs now = clock_.now_us();
    std::erase_if(challenges_, [&](const auto& entry) { return entry.second.until <= now; });
    std::vector<std::shared_ptr<Session>> late;
    std::erase_if(sessions_, [&](const auto& entry) {
        if (entry.second.session->held || entry.second.until > now) return false;
        late.push_back(entry.second.session);
        return true;
    });
    return late;
}

void Gate::make_room_for(const na::Addr& source) {
    std::size_t count = 0;
    auto oldest = challenges_.end();
    for (auto i = challenges_.begin(); i != challenges_.end(); ++i) {
        if (!(i->second.source == source)) continue;
        ++count;
        if (oldest == challenges_.end() || i->second.number < oldest->second.number) oldest = i;
    }
    if (count >= source_challenges_max) challenges_.erase(oldest);
}

Result<HelloOut> Gate::hello(const HelloIn& in, const na::Addr& source) {
    if (in.version != protocol_version) return Error{Errc::unsupported, "the server speaks version 1 of the protocol"};
    make_room_for(source);
    if (challenges_.size() >= challenges_max) return Error{Errc::overloaded, "too many clients are logging in"};
    HelloOut out;
    out.version = protocol_version;
    out.wants_key = key_.has_value();
    out.nonce = make_nonce();
    do {
        out.challenge = secret_u64();
    } while (challenges_.contains(out.challenge));
    challenges_.emplace(out.challenge,
                        Challenge{source, in.nonce, out.nonce, clock_.now_us() + challenge_us, next_number_++});
    return out;
}

Result<LoginOut> Gate::login(const LoginIn& in, const na::Addr& source) {
    const auto found = challenges_.find(in.challenge);
    const bool known = found != challenges_.end() && found->second.source == source;
    if (!known || found->second.until <= clock_.now_us())
        return Error{Errc::timed_out, "no such challenge, or it is too late for it: log in again"};
    const Challenge challenge = std::move(found->second);
    challenges_.erase(found);
    LoginOut out;
    if (key_) {
        if (!key_->accepts(in.proof, Prover::client, challenge.client, challenge.server))
            return Error{Errc::permission, "the key is not that of the server"};
        out.proof = key_->prove(Prover::server, challenge.client, challenge.server);
    }
    if (sessions_.size() >= sessions_max) return Error{Errc::overloaded, "too many sessions"};
    out.token = {secret_u64(), secret_u64()};
    auto session = std::make_shared<Session>();
    session->token = out.token;
    session->source = source;
    sessions_.emplace(out.token, Entry{std::move(session), clock_.now_us() + challenge_us});
    return out;
}

Result<std::shared_ptr<Session>> Gate::find(const Token& token, const na::Addr& source) const {
    const auto found = sessions_.find(token);
    if (found == sessions_.end() || !(found->second.session->source == source))
        return Error{Errc::peer_lost, "no such session, or it has ended: log in again"};
    return found->second.session;
}

Result<std::shared_ptr<Session>> Gate::hold(const Token& token, const na::Addr& source) {
    CINNABAR_TRY(auto session, find(token, source));
    if (session->held) return Error{Errc::busy, "the session is held already"};
    session->held = true;
    return session;
}

}  // namespace cinnabar::tools
