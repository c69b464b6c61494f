// SPDX-License-Identifier: BSD-3-Clause
// Who may use the service: challenges, proofs and the tokens of sessions. Belongs to the loop. Everything it keeps for
// strangers is bounded in number and in time.
#pragma once

#include "session/key.hpp"
#include "session/protocol.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace cinnabar::tools {

// Files under way (server.hpp).
struct Saving;
struct Giving;

struct Session {
    Token token;
    na::Addr source;
    bool held = false;   // the client's hold call is open
    bool ended = false;  // it was, and has ended
    std::map<std::uint64_t, std::shared_ptr<Saving>> savings;
    std::map<std::uint64_t, std::shared_ptr<Giving>> givings;
    std::map<std::uint64_t, Error> failed;  // savings that were given up, until the client has heard of it
};

class Gate {
  public:
    static constexpr std::size_t challenges_max = 4096;
    static constexpr std::size_t source_challenges_max = 8;  // of one client
    static constexpr std::size_t sessions_max = 4096;
    static constexpr TimeUs challenge_us = 10'000'000;  // from hello to login, and from login to hold

    explicit Gate(std::optional<Key> key, Clock& clock = steady_clock()) : key_(std::move(key)), clock_(clock) {}

    // A client that asks again and again loses its own oldest challenge and takes no room of others.
    // unsupported: another version. overloaded: too many that did not go on to log in.
    [[nodiscard]] Result<HelloOut> hello(const HelloIn& in, const na::Addr& source);
    // timed_out: no such challenge of this client any more (it is good once). permission: a wrong proof. overloaded.
    [[nodiscard]] Result<LoginOut> login(const LoginIn& in, const na::Addr& source);
    // peer_lost: not a token of this client, or not any more. The first time it is held; `busy` a second time.
    [[nodiscard]] Result<std::shared_ptr<Session>> hold(const Token& token, const na::Addr& source);
    // peer_lost: as above. A session is good from the login on, since calls may overtake each other.
    [[nodiscard]] Result<std::shared_ptr<Session>> find(const Token& token, const na::Addr& source) const;
    // Forgets what came to nothing in time, and gives the sessions among it.
    [[nodiscard]] std::vector<std::shared_ptr<Session>> expire();
    template <typename F>
    void for_each(F each) const {
        for (const auto& [token, entry] : sessions_) each(*entry.session);
    }
    void end(const Session& session) { sessions_.erase(session.token); }

    [[nodiscard]] std::size_t sessions() const noexcept { return sessions_.size(); }

  private:
    struct Challenge {
        na::Addr source;
        Nonce client;
        Nonce server;
        TimeUs until;
        std::uint64_t number;  // counts up
    };
    struct Entry {
        std::shared_ptr<Session> session;
        TimeUs until;  // for the hold call
    };
    void make_room_for(const na::Addr& source);
    std::optional<Key> key_;
    std::uint64_t next_number_ = 0;
    Clock& clock_;
    std::map<std::uint64_t, Challenge> challenges_;
    std::map<Token, Entry> sessions_;
};

}  // namespace cinnabar::tools
