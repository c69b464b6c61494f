// SPDX-License-Identifier: BSD-3-Clause
// Swim: one member's part in finding out who belongs to the group and lives. SWIM with suspicion, Lifeguard's local
// health, and anti-entropy. It has no network and no clock: what arrives and the time are handed in, and what is to be
// sent comes out. Not thread-safe.
#pragma once

#include "swim/gossip.hpp"
#include "swim/message.hpp"
#include "swim/probe_order.hpp"
#include "swim/suspicions.hpp"
#include "swim/table.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/group/swim_options.hpp>

#include <deque>
#include <memory>
#include <vector>

namespace cinnabar::group {

struct Change {
    Happened happened;
    Rank rank;
    std::uint32_t incarnation;
};

class CINNABAR_API Swim {
  public:
    struct Self {
        std::uint64_t group = 0;
        Rank rank = no_rank;
        std::uint32_t incarnation = 1;
        std::uint64_t process = 0;
        std::shared_ptr<const Profile> profile;  // may be null where nobody sends anything (a simulation)
        // The rank is this process's by the configuration of the group, so another one that has it is an older life.
        bool owns_rank = false;
    };
    using Outbox = std::vector<Message>;

    // `known`: what it begins with; self is added.
    Swim(const SwimOptions& options, Self self, Table known, std::uint64_t seed, TimeUs now);

    // Requires: `now` never goes back. Call it at next_due_us(), and not much later.
    void tick(TimeUs now, Outbox& out);
    [[nodiscard]] TimeUs next_due_us() const noexcept;
    // Requires: well_formed(message), of this group.
    void receive(const Message& message, TimeUs now, Outbox& out);

    // Pings this member next: a call to it failed.
    void doubt(Rank rank);
    // Takes over what a member told of the group when this one joined.
    void learn(const Claim& claim, TimeUs now);
    // The same of one that may lie.
    void hear(const Claim& claim, TimeUs now);
    // A new member, or a new life of one: what the member that accepts it does.
    void accept(Rank rank, std::uint32_t incarnation, std::uint64_t process, std::shared_ptr<const Profile> profile,
                TimeUs now);
    // Says goodbye to up to leave_tells others, who tell the rest.
    static constexpr std::size_t leave_tells = 64;
    void leave(TimeUs now, Outbox& out);

    [[nodiscard]] const Table& table() const noexcept { return table_; }
    [[nodiscard]] const Self& self() const noexcept { return self_; }
    [[nodiscard]] const SwimOptions& options() const noexcept { return options_; }
    [[nodiscard]] unsigned health() const noexcept { return health_; }  // 0 is good
    // Another process has this rank by right. This one takes no part any more.
    [[nodiscard]] bool displaced() const noexcept { return displaced_; }
    // What has changed since the last call.
    [[nodiscard]] std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

    // The next rank that nobody has had; no_rank if all are given out.
    [[nodiscard]] Rank free_rank() const noexcept {
        return table_.end() < options_.members_max ? table_.end() : no_rank;
    }

  private:
    struct Probe {
        Rank target = no_rank;
        std::uint32_t sequence = 0;
        bool answered = false;
        unsigned nacks_wanted = 0;
        unsigned nacks = 0;
        TimeUs ask_others_us = time_never;
    };
    struct Proxy {  // a ping for somebody else
        Rank origin;
        std::uint32_t origin_sequence;
        Rank target;
        std::uint32_t sequence;
        TimeUs nack_us;
        TimeUs ends_us;
    };
    static constexpr std::size_t proxies_max = 64;
    static constexpr std::ptrdiff_t proxies_of_one_max = 4;  // by one member
    static constexpr std::size_t doubts_max = 16;
    static constexpr unsigned sync_answers_max = 8;  // in one period

    // --- probing (probe.cpp)
    void end_probe(TimeUs now);
    void begin_probe(TimeUs now, Outbox& out);
    void ask_others(Outbox& out);
    void serve_proxies(TimeUs now, Outbox& out);
    void reconnect(Outbox& out);
    [[nodiscard]] Rank next_target();
    [[nodiscard]] Rank random_present();
    void on_ack(const Message& message, TimeUs now, Outbox& out);
    void on_ping_request(const Message& message, TimeUs now, Outbox& out);
    void worsen(int by) noexcept;

    // --- claims (merge.cpp)
    enum class Source : std::uint8_t { gossip, itself, joining };
    void merge(const Claim& claim, Source source, TimeUs now);
    void merge_present(const Claim& claim);
    [[nodiscard]] bool comes_after(const Claim& claim, const Entry& known) const noexcept;
    void merge_suspect(const Claim& claim, TimeUs now);
    void merge_gone(const Claim& claim, Source source, TimeUs now);
    void about_self(const Claim& claim);
    void outbid(std::uint32_t incarnation);
    [[nodiscard]] bool plausible(const Claim& claim, Source source) const noexcept;
    void suspect(Rank rank, Rank by, unsigned confirmations, TimeUs now);
    void put(Rank rank, Entry entry, bool with_profile);
    void tell(Rank rank, Entry before);
    void expire_suspicions(TimeUs now);

    // --- anti-entropy (sync.cpp)
    void compare(const Message& message, TimeUs now, Outbox& out);
    void on_sync(const Message& message, Outbox& out);
    void on_sync_answer(const Message& message, Outbox& out);
    void add_differing(const std::vector<std::uint64_t>& theirs, std::vector<Claim>& out);

    // --- sending and time (swim.cpp)
    [[nodiscard]] Message make(Kind kind, Rank to, Rank about, std::uint32_t sequence);
    void add_gossip(Message& message);
    void catch_up(TimeUs now);
    [[nodiscard]] bool cut_off(TimeUs now) const noexcept;
    [[nodiscard]] TimeUs period_us() const noexcept;  // of this member, as healthy as it is
    [[nodiscard]] TimeUs ping_timeout_us() const noexcept;
    [[nodiscard]] unsigned sends_max() const noexcept;

    SwimOptions options_;
    Self self_;
    std::uint32_t refutation_ = 0;
    Table table_;
    Random random_;
    Gossip gossip_;
    ProbeOrder order_;
    Suspicions suspicions_;
    std::vector<Rank> excluded_;
    std::deque<Rank> doubts_;
    std::vector<Proxy> proxies_;
    std::vector<Change> changes_;
    Probe probe_;
    std::uint32_t sequence_ = 0;
    std::uint32_t periods_ = 0;
    TimeUs period_ends_us_ = 0;
    TimeUs last_tick_us_ = 0;
    TimeUs last_heard_us_ = 0;
    TimeUs cut_off_since_us_ = time_never;
    TimeUs last_change_us_ = 0;
    TimeUs last_sync_us_ = 0;
    unsigned sync_answers_ = 0;
    unsigned health_ = 0;
    unsigned conflicts_ = 0;
    bool displaced_ = false;
    bool left_ = false;
};

}  // namespace cinnabar::group
