// SPDX-License-Identifier: BSD-3-Clause
// All-to-all. First the members agree on the participants, by an all-reduce that also exchanges the secrets from which
// tickets are derived. Then each member requests its data from the other members, from a few at a time, and waits until
// the other members have received the data that this one gives them.
#include "bounded.hpp"
#include "bulk_terms.hpp"
#include "core.hpp"
#include "portion_state.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <mutex>

namespace cinnabar::group {
namespace {

using detail::Collected;
using detail::CollectiveCall;
using Regions = std::map<Rank, bulk::Region>;

struct Participant {
    Rank rank = no_rank;
    std::uint64_t secret = 0;
};
using Participants = std::vector<Participant>;

std::uint64_t ticket_for(std::uint64_t secret, Rank taker) {
    return Random(secret ^ (std::uint64_t{taker} << 32 | taker)).next();
}

// The memory that this process gives to one member.
struct Given {
    std::shared_ptr<Holding> holding;
    Offers::Kept offer;
};

// Parts of the task may run on several threads, if it runs on a pool.
struct Exchange {
    std::shared_ptr<Core> core;
    std::string name;
    Regions give;
    Regions take;
    CollectiveCall call;
    BulkOptions options;
    Terms terms;
    std::uint64_t secret = secret_u64();
    std::map<Rank, Given> given;
    std::map<Rank, std::uint64_t> secrets;  // of the members that take part
    std::vector<Rank> order;                // order of requests; those before `next` have begun
    std::mutex mutex;                       // guards the fields below
    std::size_t next = 0;
    Collected sum;

    // no_rank: all requests have begun.
    Rank take_next() {
        const std::lock_guard lock(mutex);
        return next < order.size() ? order[next++] : no_rank;
    }
    void add(Rank rank, Errc code) {
        const std::lock_guard lock(mutex);
        if (code == Errc::ok)
            ++sum.count;
        else
            sum.failures.push_back({rank, code, 0, {}});
    }
};

void offer_all(Exchange& exchange) {
    for (const auto& [rank, region] : exchange.give) {
        if (rank == exchange.core->rank()) continue;
        Terms terms = exchange.terms;
        terms.bytes = region.bytes();
        auto holding = std::make_shared<Holding>(exchange.core->node, terms.bytes, terms.chunk_bytes);
        holding->hold_all(region);
        auto offer = Offers::open(exchange.core->offers, holding, terms, ticket_for(exchange.secret, rank));
        if (!offer) continue;  // the member finds nothing and says so
        exchange.given.emplace(rank, Given{std::move(holding), std::move(offer)});
    }
}

// Agrees on the participants. Members that did not arrive are listed as failures.
hl::Task<Errc> agree(Exchange& exchange) {
    const Rank self = exchange.core->rank();
    detail::Encoded value;
    if (const Errc failed = detail::encode_into(value, Participants{{self, exchange.secret}}); failed != Errc::ok)
        co_return failed;
    CollectiveCall call = exchange.call;
    call.combine = detail::combine_by<Participants>(
        [](Participants& into, const Participants& more) { into.insert(into.end(), more.begin(), more.end()); });
    auto reducing = detail::all_reduce(exchange.core, exchange.name, std::move(value), std::move(call));
    const Result<Collected> agreed = co_await reducing;
    if (!agreed) co_return agreed.code();
    Participants participants;
    const Errc decoded = rpc::decode(ConstBytes(agreed->combined), participants);
    if (decoded != Errc::ok) co_return decoded;
    for (const Participant& each : participants) exchange.secrets.emplace(each.rank, each.secret);
    for (const auto& [rank, region] : exchange.take) {
        if (exchange.secrets.contains(rank)) {
            exchange.order.push_back(rank);
            continue;
        }
        const auto failure = std::find_if(agreed->failures.begin(), agreed->failures.end(),
                                          [rank = rank](const Failure& each) { return each.rank == rank; });
        exchange.add(rank, failure == agreed->failures.end() ? Errc::not_found : failure->code);
    }
    // Each process starts with the rank after its own, so that not all of them request from the same member first.
    const auto after_self = std::upper_bound(exchange.order.begin(), exchange.order.end(), self);
    std::rotate(exchange.order.begin(), after_self, exchange.order.end());
    co_return Errc::ok;
}

hl::Task<Errc> take_from(Exchange& exchange, Rank rank, bulk::Region into) {
    if (rank == exchange.core->rank()) {
        const auto own = exchange.give.find(rank);
        if (own == exchange.give.end() || own->second.bytes() != into.bytes()) co_return Errc::invalid_argument;
        Asking here{exchange.core->node, exchange.core->options.provider, exchange.terms, nullptr};
        auto copying = copy_region(std::move(here), exchange.core->offers, own->second, std::move(into));
        const Result<void> copied = co_await copying;
        co_return copied.code();
    }
    const Core::Route route = exchange.core->route(rank);
    if (!route.present) co_return Errc::peer_lost;
    Asking asking{exchange.core->node, exchange.core->options.provider, exchange.terms,
                  std::make_shared<ChunkSources>(), true};
    asking.terms.bytes = into.bytes();
    asking.sources->add(route.address, ticket_for(exchange.secrets.at(rank), exchange.core->rank()));
    auto moving = move_chunks(std::move(asking), std::move(into), nullptr);
    auto stoppable = hl::with_stop(std::move(moving), route.lost);
    const Result<void> moved = co_await stoppable;
    const bool lost = moved.code() == Errc::canceled && route.lost.stop_requested();
    co_return lost ? Errc::peer_lost : moved.code();
}

hl::Task<void> take_in_turn(Exchange& exchange) {
    for (Rank rank = exchange.take_next(); rank != no_rank; rank = exchange.take_next()) {
        auto taking = take_from(exchange, rank, exchange.take.at(rank));
        exchange.add(rank, co_await taking);
    }
}

hl::Task<void> wait_for_takers(Exchange& exchange) {
    for (auto& [rank, given] : exchange.given) {
        const Core::Route route = exchange.core->route(rank);
        if (!route.present || !exchange.secrets.contains(rank)) continue;
        auto waiting = hl::with_stop(given.holding->wait_for_takers(), route.lost);
        co_await waiting;
    }
}

hl::Task<Errc> agree_and_move(std::shared_ptr<Exchange> exchange) {
    auto agreeing = agree(*exchange);
    const Errc agreed = co_await agreeing;
    if (agreed != Errc::ok) co_return agreed;
    std::vector<hl::Task<void>> lanes;
    for (unsigned i = 0; i < exchange->options.members_in_flight && i < exchange->order.size(); ++i)
        lanes.push_back(take_in_turn(*exchange));
    auto all = hl::when_all(std::move(lanes));
    co_await all;
    auto waiting = wait_for_takers(*exchange);
    co_await waiting;
    co_return Errc::ok;
}

Result<std::shared_ptr<Exchange>> exchange_of(const std::shared_ptr<Core>& core, std::string name, Regions give,
                                              Regions take, CollectiveCall call, const BulkOptions& options) {
    if (core->closed()) return Error(Errc::closed, "this process has left the group");
    CINNABAR_TRY(const Terms terms, terms_of(options, Way::to_members));
    for (const auto& [rank, region] : give) CINNABAR_TRY_VOID(check_summed(region, terms.checksum));
    for (const auto& [rank, region] : take) {
        CINNABAR_TRY_VOID(check_region(region, Way::from_members, terms.checksum));
        // Two members that load from files for each other would hold the staging buffers that their stores need.
        if (region && region.is_far())
            return Error(Errc::unsupported, "all_to_all receives into memory: write the file afterwards");
    }
    auto exchange = std::make_shared<Exchange>();
    exchange->core = core;
    exchange->name = std::move(name);
    exchange->give = std::move(give);
    exchange->take = std::move(take);
    exchange->call = std::move(call);
    exchange->options = options;
    exchange->terms = terms;
    return exchange;
}

}  // namespace

namespace detail {

hl::Task<Result<Collected>> all_to_all(std::shared_ptr<Core> core, std::string name, Regions give, Regions take,
                                       CollectiveCall call, BulkOptions options) {
    const Microseconds deadline = std::exchange(call.deadline, Microseconds(0));
    const std::stop_token stop = std::exchange(call.stop, {});
    auto made = exchange_of(core, std::move(name), std::move(give), std::move(take), std::move(call), options);
    if (!made) co_return made.error();
    const std::shared_ptr<Exchange> exchange = *std::move(made);
    offer_all(*exchange);
    auto moving = agree_and_move(exchange);
    auto bounded = run_bounded(core, std::move(moving), deadline, stop);
    const Errc moved = co_await bounded;
    for (auto& [rank, given] : exchange->given) given.holding->take_back();
    for (auto& [rank, given] : exchange->given) co_await given.holding->untouched();
    if (moved != Errc::ok) co_return moved;
    std::sort(exchange->sum.failures.begin(), exchange->sum.failures.end(),
              [](const Failure& a, const Failure& b) { return a.rank < b.rank; });
    co_return std::move(exchange->sum);
}

}  // namespace detail
}  // namespace cinnabar::group
