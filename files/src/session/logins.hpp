// SPDX-License-Identifier: BSD-3-Clause
// Logins: authenticates clients by challenges and proofs, and keeps their sessions. The server keeps no state for a
// client before its login, so unauthenticated peers cannot exhaust its memory: a client sends the challenge back with
// its login, and the tag of the challenge proves that this server issued it. Belongs to the loop.
#pragma once

#include "session/buffers.hpp"
#include "session/client_quota.hpp"
#include "session/protocol.hpp"
#include "session/secret.hpp"
#include "session/signed_calls.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace cinnabar::files {

// Files in progress (service.hpp).
struct Saving;
struct Giving;

// What a session has in progress: files, the announced bytes of its saves, and buffers.
struct Load {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    SessionPart buffers;
};

struct Session {
    Seals seals;
    na::Addr source;             // the connection of the login
    unsigned connections = 1;    // that one, and those that have joined
    bool proven = false;         // the client has proven a key or its identity
    std::uint16_t provider = 0;  // provider number of the RPCs that the client serves
    bool held = false;           // the client has made its hold call over `source`
    bool ended = false;          // the session has ended: with its hold call, or without one in time
    std::map<std::uint64_t, std::shared_ptr<Saving>> savings;
    std::map<std::uint64_t, std::shared_ptr<Giving>> givings;
    std::map<std::uint64_t, std::shared_ptr<Giving>> sums;  // being read for their checksums; only sum and abort
                                                            // calls may name them
    std::shared_ptr<Load> load = std::make_shared<Load>();
    std::shared_ptr<Account> account;       // account of the client, shared by its sessions; null: no limits
    std::map<std::uint64_t, Error> failed;  // by file number: the error that ended the file, kept until the client asks
};

class Logins {
  public:
    static constexpr std::size_t connections_max = 4096;  // of all sessions
    static constexpr TimeUs challenge_us = 10'000'000;    // from hello to login or join, and from there to hold

    // What the login announces to the client.
    struct Limits {
        std::uint64_t window_bytes = 0;
        std::uint32_t windows_max = 0;
        AttributePrecision precision = {};
    };
    Logins(std::optional<Key> key, Limits limits, TimeSource& clock = steady_clock())
        : key_(std::move(key)), limits_(limits), clock_(clock) {}

    // unsupported: the client has another protocol version.
    [[nodiscard]] Result<HelloOut> hello(const HelloIn& in, const na::Addr& source) const;
    // timed_out: the challenge was not issued for this connection, or is too old. permission: the proof is wrong.
    // overloaded: too many sessions, or the connection already has one.
    [[nodiscard]] Result<LoginOut> login(const LoginIn& in, const na::Addr& source);
    // Adds a connection to the session that has signed the call. timed_out: as login(). invalid_argument: the
    // connection has a session already. permission: the call was not made in a session of this client, or it was made
    // before. overloaded: the session has session_connections_max, or there are too many sessions.
    [[nodiscard]] Result<JoinOut> join(const JoinIn& in, const na::Addr& source);
    // Returns the session of a token, after login() or join(). peer_lost: the token belongs to another connection, or
    // the session has ended.
    [[nodiscard]] Result<std::shared_ptr<Session>> find(const Token& token, const na::Addr& source) const;
    // Marks the connection as held. busy: it is held already. peer_lost: as find().
    [[nodiscard]] Result<std::shared_ptr<Session>> hold(const Token& token, const na::Addr& source);
    // Removes connections that were not held in time, and returns the sessions that were opened over them.
    [[nodiscard]] std::vector<std::shared_ptr<Session>> expire();
    template <typename F>
    void for_each(F each) const {
        for (const auto& [source, entry] : connections_) {
            if (entry.is_first()) each(*entry.session);
        }
    }
    // Removes a connection that has joined `session`. Does nothing if it is of another one by now.
    void leave(const Session& session, const na::Addr& source);
    // Removes all connections of a session.
    void end(const Session& session);

    [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

  private:
    struct Entry {
        std::shared_ptr<Session> session;
        TimeUs until;  // when the hold call must have arrived
        na::Addr source;
        bool held = false;
        [[nodiscard]] bool is_first() const noexcept { return session->source == source; }
    };
    // Whether this server has issued the challenge for this connection, not long ago.
    [[nodiscard]] Result<void> check(const Challenge& challenge, const Nonce& client, const na::Addr& source) const;
    void add(std::shared_ptr<Session> session, const na::Addr& source);
    // Whether the client must prove the key. A client whose identity the transport has proven (tcps, ofis, verbss) need
    // not prove the key, and its calls are not signed.
    [[nodiscard]] bool wants_key(const na::Addr& source) const { return key_ && !source.identity(); }
    [[nodiscard]] MacText tag_text(const Nonce& client, const Challenge& challenge, const na::Addr& source) const;
    std::optional<Key> key_;
    Limits limits_;
    TimeSource& clock_;
    const Secret secret_ = Secret::random();  // makes the tags of challenges
    // By connection, which has at most one session. The entry keeps the address pointed to alive.
    std::map<const na::AddrBody*, Entry> connections_;
};

}  // namespace cinnabar::files
