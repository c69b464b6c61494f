// SPDX-License-Identifier: BSD-3-Clause
// Swim: one member's part in membership and failure detection: SWIM with suspicion, Lifeguard's local health, and
// anti-entropy. Swim has no network and no clock: the caller passes in messages and the time, and sends the messages
// that Swim returns. Not thread-safe.
#pragma once

#include "swim/change_log.hpp"
#include "swim/gone_ranks.hpp"
#include "swim/gossip.hpp"
#include "swim/local_health.hpp"
#include "swim/message.hpp"
#include "swim/probe_targets.hpp"
#include "swim/rank_conflict.hpp"
#include "swim/relayed_pings.hpp"
#include "swim/suspicion_times.hpp"
#include "swim/table.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/group/swim_options.hpp>

#include <vector>

namespace cinnabar::group {

class CINNABAR_API Swim {
  public:
    struct Self {
        std::uint64_t group = 0;
        Rank rank = no_rank;
        std::uint32_t incarnation = 1;
        std::uint64_t process = 0;
        Profile profile;  // may be empty in a simulation, where nothing is sent
        // The group's configuration gives this rank to this process, so another process that has it is an older life.
        bool owns_rank = false;
        // The group starts together: all members begin with this one in their tables, so it does not announce itself.
        bool known_to_all = false;
        Microseconds quiet{0};  // how long after the start it probes nobody
    };
    using Outbox = std::vector<Message>;

    // `known`: the members to start with; self is added.
    Swim(const SwimOptions& options, Self self, Table known, std::uint64_t seed, TimeUs now);

    // Requires: `now` never decreases. Call it at next_due_us() or soon after.
    void tick(TimeUs now, Outbox& out);
    [[nodiscard]] TimeUs next_due_us() const noexcept;
    // Requires: well_formed(message), and it belongs to this group.
    void receive(const Message& message, TimeUs now, Outbox& out);

    // Pings this member next, because a call to it failed.
    void doubt(Rank rank) { targets_.doubt(table_, rank); }
    // Accepts a claim of the member through which this one joined, and does not spread it.
    void learn(const Claim& claim, TimeUs now);
    // Handles a claim of a peer that may lie. `spreads_new`: whether to spread a claim about a member of which nothing
    // was known.
    void hear(const Claim& claim, TimeUs now, bool spreads_new = true);
    // Adds a new member, or a new life of one. Called by the member that assigns ranks.
    void accept(Rank rank, std::uint32_t incarnation, std::uint64_t process, Profile profile, TimeUs now);
    // Announces that this member leaves: to all other members if there are at most leave_tells, otherwise to
    // leave_tells_of_many random ones, which pass it on. The number is limited because all members may leave at once,
    // and most announcements need a connection of their own.
    static constexpr std::size_t leave_tells = 64;
    static constexpr std::size_t leave_tells_of_many = 8;
    void leave(TimeUs now, Outbox& out);
    // Excludes a member that may be alive, and tells it. The member comes back unless it has SwimOptions::rejoin =
    // false; the others exclude it when it no longer answers. Requires: the member is present, and is not this one.
    void exclude(Rank rank, TimeUs now, Outbox& out);

    [[nodiscard]] const Table& table() const noexcept { return table_; }
    [[nodiscard]] const Self& self() const noexcept { return self_; }
    [[nodiscard]] const SwimOptions& options() const noexcept { return options_; }
    [[nodiscard]] unsigned health() const noexcept { return health_.score(); }  // 0 is healthy
    // Whether this member no longer takes part: another process has its rank, or it was excluded and does not rejoin.
    [[nodiscard]] bool displaced() const noexcept { return displaced_; }
    // Returns the changes since the last call.
    [[nodiscard]] std::vector<Change> take_changes() { return changes_.take(); }

    // Returns the rank for a new member: the rank that has been gone for longest, if it may be given again and is not
    // below `first`; otherwise the next rank that was never assigned; no_rank if all were assigned.
    [[nodiscard]] Rank free_rank(Rank first, TimeUs now);

  private:
    struct Probe {
        Rank target = no_rank;
        std::uint32_t sequence = 0;
        bool answered = false;
        unsigned nacks_wanted = 0;
        unsigned nacks = 0;
        TimeUs ask_others_us = time_never;
    };
    static constexpr unsigned sync_answers_max = 8;  // per period, and as many pushes

    // --- probing (probe.cpp)
    void end_probe(TimeUs now);
    void begin_probe(TimeUs now, Outbox& out);
    void ask_others(Outbox& out);
    void reconnect(Outbox& out);
    void on_ack(const Message& message, TimeUs now, Outbox& out);
    void on_ping_request(const Message& message, TimeUs now, Outbox& out);

    // --- claims (merge.cpp)
    enum class Source : std::uint8_t { gossip, itself, joining };
    void merge(const Claim& claim, Source source, TimeUs now);
    void merge_present(const Claim& claim);
    void merge_suspect(const Claim& claim, TimeUs now);
    void merge_gone(const Claim& claim, Source source, TimeUs now);
    void about_self(const Claim& claim, TimeUs now);
    void outbid(std::uint32_t incarnation);
    [[nodiscard]] bool plausible(const Claim& claim, Source source) const noexcept;
    void put(Rank rank, Entry entry, bool with_profile);

    // --- suspicion (suspect.cpp) and its end (dead_members.cpp)
    void suspect(Rank rank, Rank by, unsigned confirmations, TimeUs now);
    void expire_suspicions(TimeUs now);

    // --- anti-entropy (sync.cpp)
    void compare(const Message& message, TimeUs now, Outbox& out);
    void on_sync(const Message& message, Outbox& out);
    void on_sync_answer(const Message& message, Outbox& out);

    // --- sending and time (swim.cpp)
    [[nodiscard]] Message make(Kind kind, Rank to, Rank about, std::uint32_t sequence);
    void add_gossip(Message& message);
    void catch_up(TimeUs now);
    [[nodiscard]] TimeUs period_us() const noexcept { return health_.stretched(options_.period); }

    SwimOptions options_;
    Self self_;
    std::uint32_t refutation_ = 0;
    Table table_;
    Random random_;
    Gossip gossip_;
    SuspicionTimes suspicions_;
    GoneRanks gone_;
    ChangeLog changes_;
    LocalHealth health_;
    ProbeTargets targets_;
    Probe probe_;
    RelayedPings relayed_;
    std::uint32_t sequence_ = 0;
    std::uint32_t periods_ = 0;
    TimeUs period_ends_us_ = 0;
    TimeUs last_tick_us_ = 0;
    TimeUs last_heard_us_ = 0;
    TimeUs cut_off_since_us_ = time_never;
    TimeUs last_change_us_ = 0;
    TimeUs last_sync_us_ = 0;
    unsigned sync_answers_ = 0;
    unsigned sync_pushes_ = 0;
    RankConflict conflict_;
    bool displaced_ = false;
    bool left_ = false;
};

}  // namespace cinnabar::group
