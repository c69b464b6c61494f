// SPDX-License-Identifier: BSD-3-Clause
// Makes a process a member or a follower: Group::create, join, start and follow.
#include "announced_line.hpp"
#include "back_off.hpp"
#include "bounded.hpp"
#include "core.hpp"
#include "permanent.hpp"
#include "probed_peers.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/group/announcement.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <algorithm>
#include <fstream>

namespace cinnabar::group {
namespace {

constexpr std::uint64_t roster_max = 65'536;

hl::CallOptions call_of(const Core& core, Microseconds deadline) {
    hl::CallOptions options;
    options.provider = core.options.provider;
    options.deadline = deadline;
    options.context = 0u;  // always the same context, as in Core::send: look_for() closes its connections
    return options;
}

Result<void> check(hl::NodeRef node, const GroupOptions& options) {
    if (node.address().empty())
        return Error(Errc::invalid_argument, "a member must listen: make the node with Node::listen");
    if (!Profile::can_have(node.self_addr(), options.labels))
        return Error(Errc::invalid_argument, "at most 16 labels, of 1,024 bytes together");
    return {};
}

// Whether the page that begins at rank `from` leads on towards the end, and has at most members_max claims together
// with the pages before it.
bool is_sound(const ViewPage& page, Rank from, std::size_t claims_before, const Core& core) noexcept {
    const bool leads_on = page.next == no_rank || (page.next > from && !page.claims.empty());
    return page.claims.size() <= claims_max && leads_on &&
           claims_before + page.claims.size() <= core.options.swim.members_max;
}

// Reads all pages of a member's view.
hl::Task<Result<ViewPage>> read_view(std::shared_ptr<Core> core, na::Addr from) {
    ViewPage whole;
    Rank next = 0;
    do {
        ViewRequest request{core->options.name, next};
        auto call = core->node.call(view_rpc, from, request, call_of(*core, Microseconds(5'000'000)));
        auto page = co_await call;
        if (!page) co_return std::move(page).error();
        if (!is_sound(*page, next, whole.claims.size(), *core))
            co_return Error(Errc::protocol, "the seed's view is malformed");
        if (next == 0) {
            whole.group = page->group;
            whole.stamp = page->stamp;
        }
        for (Claim& claim : page->claims) whole.claims.push_back(std::move(claim));
        next = page->next;
    } while (next != no_rank);
    co_return whole;
}

// Returns a bit for each of the first `ranks` ranks: whether this process knows the rank. This process's own rank
// counts as unknown, because the asked member may have given it another incarnation.
std::vector<std::uint64_t> known_ranks(const Core& core, std::size_t ranks) {
    std::vector<std::uint64_t> known((ranks + 63) / 64, ~std::uint64_t{0});
    const auto clear = [&known](Rank rank) { known[rank / 64] &= ~(std::uint64_t{1} << (rank % 64)); };
    for (std::size_t rank = ranks; rank < known.size() * 64; ++rank) clear(static_cast<Rank>(rank));
    for (const Rank rank : core.missing_of_roster(ranks)) clear(rank);
    clear(core.rank());
    return known;
}

// Gets from a member the claims that this process lacks. Takes in each page as it arrives, even if a later page does
// not. `ranks`: the number of ranks in the roster, whose members are trusted; 0: there is no roster. Returns the stamp
// of that member's view.
hl::Task<Result<Stamp>> learn_from(std::shared_ptr<Core> core, na::Addr from, std::size_t ranks) {
    ViewRequest request{core->options.name, 0, known_ranks(*core, ranks != 0 ? ranks : core->ranks())};
    std::size_t claims = 0;
    Stamp stamp;
    do {
        auto call = core->node.call(view_rpc, from, request, call_of(*core, Microseconds(5'000'000)));
        auto page = co_await call;
        if (!page) co_return std::move(page).error();
        stamp = page->stamp;
        if (!is_sound(*page, request.from, claims, *core))
            co_return Error(Errc::protocol, "the view of a member is malformed");
        claims += page->claims.size();
        if (ranks != 0)
            core->learn(page->claims, true);
        else
            core->fill_in(page->claims);
        request.from = page->next;
    } while (request.from != no_rank);
    co_return stamp;
}

Table table_of(const std::vector<Claim>& claims, std::uint32_t members_max) {
    Table table;
    for (const Claim& claim : claims) {
        if (claim.rank >= members_max || !is_life(claim.incarnation)) continue;
        const State state = claim.state == State::suspect ? State::alive : claim.state;
        table.put(claim.rank, {claim.incarnation, claim.refutation, state, claim.process, claim.profile});
    }
    return table;
}

// Requests a rank from one member.
hl::Task<Result<JoinAnswer>> ask_for_rank(std::shared_ptr<Core> core, na::Addr seed, Rank wanted) {
    JoinRequest request{core->options.name, wanted, core->process, core->node.self_addr(), core->options.labels, 0};
    request.side_loop = core->has_side_loop;
    auto call = core->node.call(join_rpc, seed, request, call_of(*core, Microseconds(5'000'000)));
    auto joined = co_await call;
    if (!joined) co_return std::move(joined).error();
    if (joined->rank >= core->options.swim.members_max || !is_life(joined->incarnation)) co_return Errc::protocol;
    co_return *joined;
}

// Requests a rank and the view from one seed.
hl::Task<Result<void>> join_next(std::shared_ptr<Core> core, na::Addr seed) {
    auto asking = ask_for_rank(core, seed, no_rank);
    auto joined = co_await asking;
    if (!joined) co_return std::move(joined).error();
    auto reading = read_view(core, seed);
    auto view = co_await reading;
    if (!view) co_return std::move(view).error();
    core->begin_member(joined->group, joined->rank, joined->incarnation, 0,
                       table_of(view->claims, core->options.swim.members_max));
    co_return Result<void>();
}

// Tells a member of the roster that this process has its rank, and learns what that member knows.
hl::Task<Result<void>> look_at(std::shared_ptr<Core> core, na::Addr member, Rank self, std::size_t ranks) {
    auto asking = ask_for_rank(core, member, self);
    auto joined = co_await asking;
    if (!joined) co_return std::move(joined).error();
    auto learning = learn_from(core, member, ranks);
    auto learned = co_await learning;
    if (!learned) co_return std::move(learned).error();
    co_return Result<void>();
}

hl::Task<Result<void>> follow_by(std::shared_ptr<Core> core, na::Addr seed) {
    auto reading = read_view(core, seed);
    auto view = co_await reading;
    if (!view) co_return std::move(view).error();
    if (view->group == 0 || view->claims.empty()) co_return Error(Errc::protocol, "the seed's view has no member");
    core->begin_follower(view->group);
    core->learn(view->claims, true);
    co_return Result<void>();
}

// How long one attempt may take. If the seeds are tried in order, each seed gets a share of the time that is left,
// because the first seed would otherwise get all of it.
Microseconds attempt_time(const Core& core, TimeUs end, std::size_t seeds_left) {
    const TimeUs now = core.now_us();
    const std::uint64_t left = end > now ? end - now : 1;
    return Microseconds(core.options.seeds_in_order ? std::max<std::uint64_t>(left / seeds_left, 1) : left);
}

// Tries the seeds in turn, with a growing pause after each round.
template <typename Attempt>
hl::Task<Result<void>> try_seeds(std::shared_ptr<Core> core, std::vector<std::string> seeds, Attempt attempt) {
    if (seeds.empty()) co_return Error(Errc::invalid_argument, "name at least one seed");
    Random random(core->options.seed + 2);
    Result<void> last = Error(Errc::timed_out, "no seed answered");
    const TimeUs end = after(core->now_us(), core->options.join_time);
    BackOff pauses(random, Microseconds(20'000), Microseconds(2'000'000));
    std::size_t unknown = 0;  // seeds in a row that this node cannot reach by any of its transports
    const std::size_t first = core->options.seeds_in_order ? 0 : random.below(seeds.size());
    for (std::size_t i = first, tried = 0;; ++i) {
        auto seed = core->node.lookup(seeds[i % seeds.size()]);
        unknown = seed ? 0 : unknown + 1;
        if (unknown == seeds.size()) co_return std::move(seed).error();
        Result<void> outcome = Errc::unsupported;
        if (seed) {
            const Microseconds left = attempt_time(*core, end, seeds.size() - tried % seeds.size());
            auto trying = run_bounded(core, attempt(core, *seed), left, {});
            outcome = co_await trying;
        } else {
            outcome = std::move(seed).error();
        }
        // An attempt that was cut short by join_time says less than the one before.
        if (outcome.code() != Errc::timed_out || core->now_us() < end) last = std::move(outcome);
        if (last.ok() || (seed && is_permanent(last.code())) || core->now_us() >= end) co_return last;
        if (++tried % seeds.size() != 0) continue;
        const Errc slept = co_await core->node.sleep_for(pauses.next());
        if (slept != Errc::ok) co_return slept;
    }
}

void let_go(const Core& core, const std::vector<na::Addr>& peers) {
    for (const na::Addr& peer : peers) core.node.rpc_context().ask_to_leave(peer, core.options.swim.period / 2);
}

std::size_t searched_max(const Core& core, std::size_t members) noexcept {
    const std::uint32_t connections = core.options.probe_connections_max;
    return keeps_all(connections, members) ? members : (probed_max(connections, members) + 3) / 4;
}

// Looks for the members of a roster until this process has seen each of them, so that two parts of the group that
// started separately find each other. In a large group, keeps only the connections to the members that it has asked
// last.
hl::Task<void> look_for(std::shared_ptr<Core> core, Roster roster) {
    Random random(core->options.seed + 3);
    const Microseconds period = core->options.swim.period;
    const auto half_period = static_cast<std::uint64_t>(period.count()) / 2;
    BackOff pauses(random, std::min(period, Microseconds(20'000)), period * 4);
    const std::size_t members = roster.addresses.size();
    const std::size_t kept = searched_max(*core, members);
    ProbedPeers asked;
    while (!core->closed()) {
        const std::vector<Rank> missing = core->missing_of_roster(members);
        if (missing.empty()) break;
        auto seed = core->node.lookup(roster.addresses[missing[random.below(missing.size())]]);
        if (seed) {
            auto trying = run_bounded(core, look_at(core, *seed, roster.self, members), core->options.join_time, {});
            (void)co_await trying;
            let_go(*core, asked.note(*seed, kept, period, core->now_us()));
        }
        // Long pauses are meant for members that are not there. After a member has answered, the pause is short,
        // because the number of known members doubles with each answer.
        Microseconds pause = pauses.next();
        const bool found = core->missing_of_roster(members).size() < missing.size();
        if (found) pause = std::min(pause, Microseconds(half_period / 2 + random.below(half_period + 1)));
        const Errc slept = co_await core->node.sleep_for(pause);
        if (slept != Errc::ok) co_return;
    }
    if (core->closed() || asked.size() <= kept) co_return;
    // Waits, so that the connections to the members that were asked in the last period can be closed as well.
    const Errc slept = co_await core->node.sleep_for(period);
    if (slept == Errc::ok && !core->closed()) let_go(*core, asked.let_go(kept, period, core->now_us()));
}

// The address of another member that is present, at random; empty: there is none.
na::Addr some_other(Core& core, Random& random) {
    const View view = core.view();
    const auto present = view.present();
    if (present.size() < 2) return {};
    std::size_t at = random.below(present.size());
    if (present[at] == core.rank()) at = (at + 1) % present.size();
    return view.find(present[at])->address();
}

// After this process has joined, asks for the claims that it lacks. Otherwise processes that join at the same moment
// would learn of each other by gossip, of which a message carries little. Asks in turns the member by which this
// process joined and a random member, until this process knows the same as the member that it has asked. The member by
// which this process joined knows all others that joined by it. A process that joins alone asks once, and gets nothing.
hl::Task<void> ask_for_more(std::shared_ptr<Core> core, na::Addr seed) {
    constexpr int in_vain_max = 8;
    Random random(core->options.seed + 7);
    const Microseconds period = core->options.swim.period;
    const auto half_period = static_cast<std::uint64_t>(period.count()) / 2;
    ProbedPeers asked;
    (void)asked.note(seed, 1, period, core->now_us());
    bool asks_seed = true;
    for (int in_vain = 0; in_vain < in_vain_max; asks_seed = !asks_seed) {
        const Errc slept = co_await core->node.sleep_for(Microseconds(half_period / 2 + random.below(half_period + 1)));
        if (slept != Errc::ok || core->closed()) co_return;
        const na::Addr peer = asks_seed ? seed : some_other(*core, random);
        if (peer.empty()) break;
        const std::size_t before = core->known();
        auto asking = run_bounded(core, learn_from(core, peer, 0), core->options.join_time, {});
        const Result<Stamp> theirs = co_await asking;
        let_go(*core, asked.note(peer, searched_max(*core, core->present()), period, core->now_us()));
        if (theirs && *theirs == core->stamp()) break;
        in_vain = core->known() > before ? 0 : in_vain + 1;
    }
    const Errc slept = co_await core->node.sleep_for(period);
    if (slept != Errc::ok || core->closed()) co_return;
    if (!keeps_all(core->options.probe_connections_max, core->present()))
        let_go(*core, asked.let_go(0, period, core->now_us()));
}

// Chooses the member to follow, at random: one that is present, or a seed if none is.
na::Addr pick(Core& core, const std::vector<std::string>& seeds, Random& random) {
    const View view = core.view();
    const auto present = view.present();
    if (!present.empty()) return view.find(present[random.below(present.size())])->address();
    auto seed = core.node.lookup(seeds[random.below(seeds.size())]);
    return seed ? *seed : na::Addr();
}

hl::Task<void> keep_following(std::shared_ptr<Core> core, std::vector<std::string> seeds, na::Addr from) {
    Random random(core->options.seed + 4);
    while (!core->closed()) {
        FollowRequest request{core->group(), core->stamp()};
        auto call = core->node.call(follow_rpc, from, request, call_of(*core, Microseconds(10'000'000)));
        auto page = co_await call;
        if (page && page->claims.size() <= claims_max && !page->too_old) {
            core->learn(page->claims, true);
            if (!(core->stamp() == request.known)) continue;
        } else if (page) {
            auto reading = run_bounded(core, read_view(core, from), core->options.join_time, {});
            auto view = co_await reading;
            if (view) core->learn(view->claims, true);
        }
        // The member had nothing new, or did not answer: pauses. Then asks another member if the call failed, or if the
        // stamps still differ although the asked member has sent all its claims.
        const Errc slept = co_await core->node.sleep_for(Microseconds(50'000 + random.below(100'000)));
        if (slept != Errc::ok) co_return;
        if (!page || !(core->stamp() == page->stamp)) from = pick(*core, seeds, random);
    }
}

hl::Task<Result<void>> begin_to_follow(std::shared_ptr<Core> core, std::vector<std::string> seeds) {
    auto trying = try_seeds(core, seeds, follow_by);
    auto found = co_await trying;
    if (!found) co_return std::move(found).error();
    Random random(core->options.seed + 5);
    na::Addr from = pick(*core, seeds, random);
    auto following = keep_following(core, std::move(seeds), std::move(from));
    co_return core->node.spawn(std::move(following));
}

// The id of the group, the same for all processes that start from these addresses, or from these lines. Lines contain
// the random numbers of their processes, so a second group of the same nodes has another id. Otherwise a late call of
// the first group would run in the second.
std::uint64_t group_of(const std::vector<std::string>& texts, const GroupOptions& options) noexcept {
    std::uint64_t id = rpc::rpc_id(options.name);
    for (const std::string& text : texts) id = id * 31 + rpc::rpc_id(text);
    return id;
}

Result<Rank> rank_on(const Roster& roster, hl::NodeRef node) {
    if (roster.self != no_rank) return roster.self;
    const auto mine = node.endpoints();
    for (Rank rank = 0; rank < roster.addresses.size(); ++rank) {
        auto addr = na::Addr::parse(roster.addresses[rank]);
        if (!addr || !addr->listens()) continue;
        for (const std::string& endpoint : addr->body().endpoints) {
            if (std::find(mine.begin(), mine.end(), endpoint) != mine.end()) return rank;
        }
    }
    return Error(Errc::not_found, "no line of the roster is an address of this node; set Roster::self");
}

}  // namespace

Result<Roster> read_roster(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Error(Errc::io, "cannot read the roster", path, errno);
    Roster roster;
    for (std::string line; std::getline(file, line);) {
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
        if (line.empty() || line.front() == '#') continue;
        roster.addresses.push_back(line);
        if (roster.addresses.size() > roster_max)
            return Error(Errc::invalid_argument, "a roster has at most 65,536 addresses", path);
    }
    if (roster.addresses.empty()) return Error(Errc::invalid_argument, "the roster has no address", path);
    return roster;
}

Result<Group> Group::create(hl::NodeRef node, GroupOptions options) {
    CINNABAR_TRY_VOID(check(node, options));
    auto core = std::make_shared<Core>(node, std::move(options));
    Group group(core);
    core->begin_member(Random(core->process).next(), 0, 1, 0, {});
    CINNABAR_TRY_VOID(core->serve_members());
    CINNABAR_TRY_VOID(core->start_ticking());
    return group;
}

hl::Task<Result<Group>> Group::join(hl::NodeRef node, std::vector<std::string> seeds, GroupOptions options) {
    auto sound = check(node, options);
    if (!sound) co_return std::move(sound).error();
    auto core = std::make_shared<Core>(node, std::move(options));
    Group group(core);
    auto served = core->serve_members();
    if (!served) co_return std::move(served).error();
    const auto used = std::make_shared<na::Addr>();
    const auto attempt = [used](std::shared_ptr<Core> of, na::Addr seed) {
        *used = seed;
        return join_next(std::move(of), std::move(seed));
    };
    auto trying = try_seeds(core, std::move(seeds), attempt);
    auto joined = co_await trying;
    if (!joined) co_return std::move(joined).error();
    auto ticking = core->start_ticking();
    if (!ticking) co_return std::move(ticking).error();
    (void)node.spawn(ask_for_more(core, *used));  // if this fails, gossip brings the same, later
    co_return group;
}

Result<Group> Group::start(hl::NodeRef node, Roster roster, GroupOptions options) {
    CINNABAR_TRY_VOID(check(node, options));
    CINNABAR_TRY(const Rank self, rank_on(roster, node));
    if (self >= roster.addresses.size() || roster.addresses.size() > options.swim.members_max)
        return Error(Errc::invalid_argument, "the rank is not in the roster, or the roster is longer than members_max");
    roster.self = self;
    auto core = std::make_shared<Core>(node, std::move(options));
    Group group(core);
    core->begin_member(group_of(roster.addresses, core->options), self, 1, roster.addresses.size(), {});
    CINNABAR_TRY_VOID(core->serve_members());
    CINNABAR_TRY_VOID(core->start_ticking());
    CINNABAR_TRY_VOID(Result<void>(node.spawn(look_for(core, std::move(roster)))));
    return group;
}

Announcement::Announcement(std::shared_ptr<Core> core, Group group, std::string line)
    : core_(std::move(core)), group_(std::move(group)), line_(std::move(line)) {}

Result<Announcement> Announcement::make(hl::NodeRef node, GroupOptions options) {
    CINNABAR_TRY_VOID(check(node, options));
    auto core = std::make_shared<Core>(node, std::move(options));
    Group group(core);
    CINNABAR_TRY_VOID(core->serve_members());
    std::string line = announced_line(node.address(), {0, 1, 0, State::alive, core->process, no_rank, core->profile()});
    return Announcement(std::move(core), std::move(group), std::move(line));
}

Result<Group> Announcement::start(const std::vector<std::string>& lines, Rank self) && {
    if (core_->is_member()) return Error(Errc::exists, "this process has begun with its announcement already");
    if (self >= lines.size() || lines.size() > core_->options.swim.members_max)
        return Error(Errc::invalid_argument, "there is no line for the rank, or there are more than members_max");
    const bool late = lines[self] != line_;
    Table all;
    Roster roster;
    roster.self = self;
    for (Rank rank = 0; rank < lines.size(); ++rank) {
        CINNABAR_TRY(Claim claim, claim_of_line(lines[rank]));
        roster.addresses.emplace_back(address_of_line(lines[rank]));
        if (!late) all.put(rank, {1, 0, State::alive, claim.process, std::move(claim.profile)});
    }
    all.share();
    core_->begin_member(group_of(lines, core_->options), self, 1, lines.size(), std::move(all), !late);
    CINNABAR_TRY_VOID(core_->start_ticking());
    if (late) CINNABAR_TRY_VOID(Result<void>(core_->node.spawn(look_for(core_, std::move(roster)))));
    return std::move(group_);
}

hl::Task<Result<Group>> Group::follow(hl::NodeRef node, std::vector<std::string> seeds, GroupOptions options) {
    options.own_loop = false;  // a client probes nobody
    auto core = std::make_shared<Core>(node, std::move(options));
    Group group(core);
    auto beginning = begin_to_follow(core, std::move(seeds));
    auto begun = co_await beginning;
    if (!begun) co_return std::move(begun).error();
    auto ticking = core->start_ticking();
    if (!ticking) co_return std::move(ticking).error();
    co_return group;
}

}  // namespace cinnabar::group
