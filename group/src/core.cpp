// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends this process's part in a group, drives failure detection by time and by messages (tick_loop,
// on_message), sends its messages, and tells readers about changes.
#include "core.hpp"

#include "barrier_arrivals.hpp"
#include "offers.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/side_loop.hpp>

#include <algorithm>
#include <bit>
#include <limits>

namespace cinnabar::group {
namespace {

GroupOptions with_seed(GroupOptions options) {
    if (options.seed == 0) options.seed = secret_u64();
    return options;
}

// Returns the side loop of the node, or the node itself if it has no side loop or the options do not want one.
hl::NodeRef prober_of(hl::NodeRef node, const GroupOptions& options) {
    if (!options.own_loop) return node;
    const Result<hl::NodeRef> side = hl::side_loop(node);
    if (side) return *side;
    if (side.code() != Errc::unsupported)
        log(LogLevel::warning, "group", "failure detection shares the node's loop, because it has no other: %s",
            side.error().message().c_str());
    return node;
}

// The maximum number of answers in flight to one peer; further answers are dropped.
constexpr std::size_t answers_max = 16;

// After probed_periods, a member that was probed has answered, or was found not to answer. The connection to that
// member is then closed, unless something has arrived on it in the last quiet_periods, which shows that something else
// uses it, too.
constexpr int probed_periods = 3;
constexpr int quiet_periods = 2;

Microseconds probe_period(const GroupOptions& options) noexcept {
    return std::max(options.swim.period, Microseconds(10'000));
}

// How long members that begin together probe nobody. Some may need a second to read who the others are, and in a large
// group on few processors all are busy with their start: late answers would be taken for failures, and cause more
// probes.
Microseconds quiet_start(const GroupOptions& options, std::size_t members) noexcept {
    return Microseconds(1'000'000) + probe_period(options) * static_cast<std::int64_t>(std::bit_width(members / 32));
}

// How long a program has to serve its Rpcs after its group has begun.
constexpr Microseconds serving_time{5'000'000};

}  // namespace

Core::Core(hl::NodeRef of, const GroupOptions& with)
    : node(of),
      options(with_seed(with)),
      process(Random(options.seed).next()),
      prober(prober_of(of, options)),
      has_side_loop(&prober.rpc_context() != &node.rpc_context()),
      clock(options.clock),
      started(of, {options.retry, options.quota, options.seed + 2}),
      passed_on(of, {options.retry, {}, options.seed + 3}),
      executions(options.calls_max, options.answer_bytes_max),
      copies(options.variables, process),
      followers(options.followers_max, std::max(options.followers_max / 2, 1u)),  // one peer may use half
      arrivals(std::make_shared<BarrierArrivals>(of)),
      offers(std::make_shared<Offers>()),
      answers_in_flight_(std::numeric_limits<std::size_t>::max(), answers_max) {
    if (with.seed != 0) call_numbers_.emplace(with.seed + 6);
}

Core::~Core() = default;

void Core::begin_member(std::uint64_t group, Rank rank, std::uint32_t incarnation, std::size_t roster, Table known,
                        bool together) {
    Swim::Self self{group, rank, incarnation, process, profile(), roster != 0, together, {}};
    if (together) self.quiet = quiet_start(options, known.present());
    {
        const std::lock_guard lock(mutex_);
        group_ = group;
        roster_ = roster;
        if (together) serves_by_ = after(now_us(), serving_time);
        swim_.emplace(options.swim, std::move(self), std::move(known), options.seed + 1, now_us());
    }
    begun->set();
}

Profile Core::profile() const { return {node.self_addr(), options.labels, has_side_loop}; }

TimeUs Core::serves_by() const {
    const std::lock_guard lock(mutex_);
    return serves_by_;
}

void Core::begin_follower(std::uint64_t group) {
    const std::lock_guard lock(mutex_);
    group_ = group;
}

Result<void> Core::start_ticking() {
    const Errc spawned = prober.spawn(tick_loop(shared_from_this()));
    if (spawned == Errc::ok || spawned == Errc::closed) return {};  // the node is ending, and the group does nothing
    return Error(spawned, "starting the failure detection of a group");
}

// `self` keeps the Core alive: the task may start after the last Group is gone.
hl::Task<void> Core::tick_loop([[maybe_unused]] std::shared_ptr<Core> self) {
    const Microseconds step = std::max(options.swim.period / 4, Microseconds(2'500));
    for (;;) {
        Microseconds span = step;
        {
            std::unique_lock lock(mutex_);
            if (closed_) co_return;
            Swim::Outbox out;
            const TimeUs now = now_us();
            if (swim_) {
                swim_->tick(now, out);
                const TimeUs due = std::max(swim_->next_due_us(), now + 1000);
                if (due - now < static_cast<TimeUs>(step.count())) span = Microseconds(due - now);
            }
            after_turn(lock, out, no_rank, {});
        }
        executions.sweep(now_us());
        const Errc waited = co_await wait_for(prober, closing_, span);
        if (waited != Errc::timed_out) co_return;
    }
}

void Core::on_message(const Message& message, const na::Addr& source) {
    if (!well_formed(message)) return;
    hear_time(message.time, message.from);
    std::unique_lock lock(mutex_);
    if (closed_ || !swim_ || message.group != group_) return;
    Swim::Outbox out;
    swim_->receive(message, now_us(), out);
    after_turn(lock, out, message.from, source);
}

void Core::after_turn(std::unique_lock<std::mutex>& lock, Swim::Outbox& out, Rank from, const na::Addr& source) {
    const std::vector<Change> changes = swim_ ? swim_->take_changes() : std::exchange(followed_changes_, {});
    std::vector<Post> posts;
    for (Message& message : out) add_post(std::move(message), from, source, posts);
    std::vector<std::stop_source> ended;
    std::shared_ptr<Signal> changed;
    const bool over = swim_ && swim_->displaced();
    const Stamp stamp = table().stamp();
    for (const Change& change : changes) {
        const bool same = change.happened == Happened::suspected || change.happened == Happened::trusted;
        if (!same && change.happened != Happened::joined) drifted_.erase(change.rank);
        const auto at = same ? called_.end() : called_.find(change.rank);
        if (at == called_.end()) continue;
        ended.push_back(at->second.lost);
        called_.erase(at);
    }
    if (!changes.empty()) {
        view_.reset();
        changed = std::exchange(changed_, std::make_shared<Signal>());
        tell_readers(changes, stamp);
    }
    lock.unlock();
    for (Post& post : posts) send(post);
    for (std::stop_source& source_of : ended) source_of.request_stop();
    if (changed) changed->set();
    if (over) close();
}

// Adds a message to `posts`, with the address to send it to. An answer is sent on the connection by which the other
// side's message came. A peer that sends pings and does not read gets only a few answers in flight, because more would
// fill the send slots that all calls of this process share.
void Core::add_post(Message&& message, Rank from, const na::Addr& source, std::vector<Post>& posts) {
    const bool answer = message.to == from && !source.empty();
    na::Addr to = answer ? source : na::Addr();
    if (to.empty()) {
        const Profile& profile = table().at(message.to).profile;
        to = profile.side_loop() ? profile.address().with_context(hl::side_context) : profile.address();
    }
    if (to.empty()) return;
    if (answer && !answers_in_flight_.enter(to)) return;
    posts.push_back({std::move(message), std::move(to), answer});
    if (answer) return;
    const std::size_t most = probed_max(options.probe_connections_max, table().present());
    posts.back().done = probed_.note(posts.back().to, most, probed_periods * probe_period(options), now_us());
}

// Called with the lock held, so that all readers see the changes in order.
void Core::tell_readers(const std::vector<Change>& changes, const Stamp& stamp) {
    std::erase_if(readers_, [](const auto& reader) { return reader.expired(); });
    for (const auto& reader : readers_) {
        const std::shared_ptr<EventQueue> queue = reader.lock();
        if (!queue) continue;
        for (const Change& change : changes) queue->add({change.happened, change.rank, change.incarnation, stamp});
    }
}

void Core::send(Post& post) {
    hl::CallOptions call;
    call.deadline = std::max(options.swim.period, Microseconds(100'000));
    call.provider = options.provider;
    post.message.time = clock.now().bits();
    if (!post.answer) call.context = 0u;  // always the same context, so that it is known which one has the connection
    for (const na::Addr& peer : post.done)
        prober.rpc_context().ask_to_leave(peer, quiet_periods * probe_period(options));
    // A connection is used by the loop that has accepted it.
    const bool by_node = post.to.is_connection() && post.to.body().held_by != hl::side_context;
    auto sending = (by_node ? node : prober).call(swim_message, post.to, post.message, call);
    if (!post.answer) return sending.then([](const Result<void>&) {});
    sending.then(
        [self = shared_from_this(), to = post.to](const Result<void>&) { self->answers_in_flight_.leave(to); });
}

void Core::hear_time(std::uint64_t time, Rank from) {
    static constinit LogLimit lines;
    const HybridTime heard(time);
    const bool refused = !clock.hear(heard);
    // Without the lock, because ahead() may call ClockOptions::wall_us.
    const Microseconds ahead = refused ? clock.ahead(heard) : Microseconds(0);
    const std::lock_guard lock(mutex_);
    if (!refused) {
        drifted_.erase(from);
        return;
    }
    const auto ahead_us = static_cast<std::uint64_t>(std::max<std::int64_t>(ahead.count(), 0));
    const Entry& member = table().at(from);
    if (from != no_rank && (!member.present() || !drifted_.insert(from).second)) return;
    const std::string member_name = from == no_rank ? std::string("a caller") : "member " + std::to_string(from);
    const std::string peer = member.profile ? member.profile.address().log_name() : member_name;
    log_limited(lines, LogLevel::warning, "group", {peer_field(peer), LogField("ahead_us", ahead_us)},
                "the clock of %s is %lld ms ahead of this host's; its times are ignored: set the clocks of both hosts",
                member_name.c_str(), static_cast<long long>(ahead.count() / 1000));
    if (from != no_rank) tell_readers({{Happened::drifted, from, member.incarnation}}, table().stamp());
}

void Core::leave() {
    {
        std::unique_lock lock(mutex_);
        if (closed_) return;
        Swim::Outbox out;
        if (swim_) swim_->leave(now_us(), out);
        after_turn(lock, out, no_rank, {});
    }
    close();
}

void Core::close() noexcept {
    std::vector<std::weak_ptr<EventQueue>> readers;
    std::unordered_map<Rank, Called> called;
    bool serving = false;
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(closed_, true)) return;
        readers.swap(readers_);
        called.swap(called_);
        serving = std::exchange(serving_, false);
    }
    if (serving) {
        const rpc::ProviderId provider = options.provider;
        if (has_side_loop) (void)prober.withdraw(swim_message, provider);
        (void)node.withdraw(swim_message, provider);
        (void)node.withdraw(join_rpc, provider);
        (void)node.withdraw(view_rpc, provider);
        (void)node.withdraw(follow_rpc, provider);
        (void)node.withdraw(tree_rpc, provider);
        (void)node.withdraw(cancel_message, provider);
    }
    offers->withdraw(node, options.provider);
    executions.stop_all();
    arrivals->close();
    for (const auto& reader : readers) {
        if (const auto queue = reader.lock()) queue->close();
    }
    closing_->set();
    begun->set();
    served.next_added()->set();
    const std::lock_guard lock(mutex_);
    changed_->set();
}

bool Core::closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

std::uint64_t Core::group() const {
    const std::lock_guard lock(mutex_);
    return group_;
}

bool Core::is_member() const {
    const std::lock_guard lock(mutex_);
    return swim_.has_value();
}

Rank Core::rank() const {
    const std::lock_guard lock(mutex_);
    return swim_ ? swim_->self().rank : no_rank;
}

std::uint32_t Core::incarnation() const {
    const std::lock_guard lock(mutex_);
    return swim_ ? swim_->self().incarnation : 0;
}

unsigned Core::health() const {
    const std::lock_guard lock(mutex_);
    return swim_ ? swim_->health() : 0;
}

std::size_t Core::present() const {
    const std::lock_guard lock(mutex_);
    return table().present();
}

Rank Core::ranks() const {
    const std::lock_guard lock(mutex_);
    return table().end();
}

std::size_t Core::known() const {
    const std::lock_guard lock(mutex_);
    return table().known();
}

Stamp Core::stamp() const {
    const std::lock_guard lock(mutex_);
    return table().stamp();
}

View Core::view() {
    const std::lock_guard lock(mutex_);
    if (view_) return *view_;
    std::vector<Member> members;
    members.reserve(table().known());
    for (Rank rank = 0; rank < table().end(); ++rank) {
        const Entry& entry = table().at(rank);
        if (entry.known()) members.push_back({rank, entry.incarnation, entry.state, entry.process, entry.profile});
    }
    view_.emplace(table().stamp(), std::move(members));
    return *view_;
}

std::shared_ptr<EventQueue> Core::subscribe() {
    auto queue = std::make_shared<EventQueue>(node);
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [](const auto& reader) { return reader.expired(); });
    if (closed_)
        queue->close();
    else
        readers_.push_back(queue);
    return queue;
}

std::shared_ptr<Signal> Core::next_change() {
    const std::lock_guard lock(mutex_);
    return changed_;
}

}  // namespace cinnabar::group
