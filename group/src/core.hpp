// SPDX-License-Identifier: BSD-3-Clause
// Core: one process's part in a group, as a member or as a follower. Functions may be called on any thread; while the
// mutex is held, nothing is sent and no user code runs. Failure detection runs on the loop of `prober`, everything else
// on the loops of `node`; neither waits for the other.
#pragma once

#include "event_queue.hpp"
#include "executions.hpp"
#include "peer_quota.hpp"
#include "probed_peers.hpp"
#include "served_rpcs.hpp"
#include "swim/swim.hpp"
#include "variable_copies.hpp"
#include "wire.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/hl/caller.hpp>
#include <cinnabar/hl/node.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <unordered_map>
#include <vector>

namespace cinnabar::group {

class BarrierArrivals;
class Offers;

class Core : public std::enable_shared_from_this<Core> {
  public:
    Core(hl::NodeRef node, const GroupOptions& options);
    ~Core();

    const hl::NodeRef node;
    const GroupOptions options;
    const std::uint64_t process;  // random
    const hl::NodeRef prober;     // where failure detection runs: a side loop of the node, or the node itself
    const bool has_side_loop;
    [[nodiscard]] TimeUs now_us() const noexcept { return node.rpc_context().now_us(); }

    // --- start and end (core.cpp). begin_member: `known` is what the seed reported about the members; empty without a
    // seed. `roster`: the number of ranks that a roster assigns; 0: there is no roster. `together`: all members in
    // `known` begin at this moment, like this process, and know the same members.
    void begin_member(std::uint64_t group, Rank rank, std::uint32_t incarnation, std::size_t roster, Table known,
                      bool together = false);
    // What this process publishes about itself. Requires: the node listens, and the labels are few and short.
    [[nodiscard]] Profile profile() const;
    // A signal that is set when this process has become a member, or never will.
    const std::shared_ptr<Signal> begun = std::make_shared<Signal>();
    // Until when a call of an Rpc without a handler waits, because this process's program may not have served the Rpc
    // yet.
    [[nodiscard]] TimeUs serves_by() const;
    [[nodiscard]] Result<void> serve_members();  // serving.cpp
    void begin_follower(std::uint64_t group);
    [[nodiscard]] Result<void> start_ticking();
    // If this process is a member, tells the others. Then does the same as close().
    void leave();
    [[nodiscard]] Result<void> exclude(Rank rank);  // knowledge.cpp
    // Ends all waits. Afterwards only tasks that the node waits for still use the node.
    void close() noexcept;
    [[nodiscard]] bool closed() const;

    // --- the view (core.cpp)
    [[nodiscard]] std::uint64_t group() const;
    [[nodiscard]] bool is_member() const;
    [[nodiscard]] Rank rank() const;  // no_rank for a follower
    [[nodiscard]] std::uint32_t incarnation() const;
    [[nodiscard]] View view();
    [[nodiscard]] std::size_t present() const;  // the number of members that are present
    [[nodiscard]] Rank ranks() const;           // the highest known rank plus one
    [[nodiscard]] std::size_t known() const;    // the number of ranks of which something is known
    [[nodiscard]] Stamp stamp() const;
    [[nodiscard]] unsigned health() const;
    [[nodiscard]] std::shared_ptr<EventQueue> subscribe();
    // A signal that is set at the next change of the view.
    [[nodiscard]] std::shared_ptr<Signal> next_change();

    // --- claims from other processes (knowledge.cpp)
    void learn(const std::vector<Claim>& claims, bool trusted);
    // Takes in claims that another member sends after this process has joined. Does not spread claims about members
    // that were unknown here, because the member that first learned of them spreads them.
    void fill_in(const std::vector<Claim>& claims);
    [[nodiscard]] std::vector<Claim> missing_since(const Stamp& stamp, bool& too_old) const;
    [[nodiscard]] ViewPage page(const ViewRequest& request) const;
    void doubt(Rank rank);
    [[nodiscard]] Result<JoinAnswer> accept(const JoinRequest& request, na::Addr& hand_on);  // assign_rank.cpp
    [[nodiscard]] std::vector<Rank> missing_of_roster(std::size_t ranks) const;

    // --- calls
    struct Route {
        bool present = false;
        std::uint32_t incarnation = 0;
        na::Addr address;
        std::stop_token lost;  // stopped when the member is no longer present
    };
    [[nodiscard]] Route route(Rank rank);
    // Returns those of `ranks` that this process does not know, or of which it knows only an earlier holder than the
    // one in `holders`.
    [[nodiscard]] std::vector<Rank> unknown_of(const std::vector<Rank>& ranks,
                                               const std::vector<HolderRun>& holders) const;
    [[nodiscard]] std::vector<Claim> claims_of(const std::vector<Rank>& ranks) const;
    [[nodiscard]] CallId next_call();
    ServedRpcs served;

    HybridClock clock;
    const hl::Caller started;    // makes this process's own calls, subject to its quota
    const hl::Caller passed_on;  // makes forwarded calls and those of the group itself
    Executions executions;
    VariableCopies copies;
    PeerQuota followers;  // followers that wait for the next change
    const std::shared_ptr<BarrierArrivals> arrivals;
    const std::shared_ptr<Offers> offers;

    void on_message(const Message& message, const na::Addr& source);
    // Passes the time in a message to the clock. `from`: the member that sent the message; no_rank: the sender is
    // unknown. If the time is too far ahead, this is logged, and reported as an event of the member.
    void hear_time(std::uint64_t time, Rank from);

  private:
    struct Post {
        Message message;
        na::Addr to;
        bool answer = false;              // it is counted in answers_in_flight_
        std::vector<na::Addr> done = {};  // peers that failure detection needs no more
    };
    // A present member that this process has called. Its address is kept, since by it calls find their connection.
    struct Called {
        Profile profile;
        na::Addr address;  // of that profile
        std::stop_source lost;
    };

    hl::Task<void> tick_loop(std::shared_ptr<Core> self);
    // Notifies readers of changes, releases the lock, sends `out`, and wakes the tasks that wait for a change. If this
    // process no longer takes part (Swim::displaced), does the same as close().
    void after_turn(std::unique_lock<std::mutex>& lock, Swim::Outbox& out, Rank from, const na::Addr& source);
    void add_post(Message&& message, Rank from, const na::Addr& source, std::vector<Post>& posts);
    void tell_readers(const std::vector<Change>& changes, const Stamp& stamp);
    void send(Post& post);
    void put_followed(const Claim& claim);
    [[nodiscard]] const Table& table() const noexcept { return swim_ ? swim_->table() : followed_; }

    mutable std::mutex mutex_;
    std::uint64_t group_ = 0;
    std::size_t roster_ = 0;
    TimeUs serves_by_ = 0;
    std::optional<Swim> swim_;  // if this process is a member
    Table followed_;            // if it is a follower
    std::vector<Change> followed_changes_;
    std::optional<View> view_;  // built on demand
    std::vector<std::weak_ptr<EventQueue>> readers_;
    std::shared_ptr<Signal> changed_ = std::make_shared<Signal>();
    std::shared_ptr<Signal> closing_ = std::make_shared<Signal>();
    std::unordered_map<Rank, Called> called_;
    std::optional<Random> call_numbers_;  // set if GroupOptions::seed is not 0; otherwise call numbers are secret
    std::set<Rank> drifted_;              // present members whose last time was too far ahead
    PeerQuota answers_in_flight_;
    ProbedPeers probed_;
    bool closed_ = false;
    bool serving_ = false;
};

}  // namespace cinnabar::group
