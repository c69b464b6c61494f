// SPDX-License-Identifier: BSD-3-Clause
// The caller's side of calls that move memory.
#include "bounded.hpp"
#include "bulk_terms.hpp"
#include "tree_run.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <mutex>

namespace cinnabar::group {

Result<Terms> terms_of(const BulkOptions& options, Way way) {
    if (options.chunk_bytes < chunk_bytes_min || options.chunk_bytes > chunk_bytes_max)
        return Error(Errc::invalid_argument, "BulkOptions::chunk_bytes is 4 KiB to 16 MiB");
    if (options.chunks_in_flight < 1 || options.chunks_in_flight > window_max)
        return Error(Errc::invalid_argument, "BulkOptions::chunks_in_flight is 1 to 16");
    if (options.members_in_flight < 1)
        return Error(Errc::invalid_argument, "BulkOptions::members_in_flight is at least 1");
    if (options.come_back < Microseconds(0) || options.come_back > come_back_max)
        return Error(Errc::invalid_argument, "BulkOptions::come_back is 0 to 60 s");
    Terms terms;
    terms.way = way;
    terms.come_back_ms = static_cast<std::uint16_t>((options.come_back.count() + 999) / 1000);
    terms.checksum = options.checksum;
    terms.window = static_cast<std::uint8_t>(options.chunks_in_flight);
    terms.chunk_bytes = options.chunk_bytes;
    return terms;
}

Result<void> check_summed(const bulk::Region& region, bool checksum) {
    if (!checksum || !region || !region.is_far()) return {};
    return Error(Errc::unsupported,
                 "there are no checksums of files and device memory: leave BulkOptions::checksum off");
}

Result<void> check_region(const bulk::Region& region, Way way, bool checksum) {
    CINNABAR_TRY_VOID(check_summed(region, checksum));
    // Memory to be sent is not checked: the caller's own transfers read it, so others need no access to it.
    if (way == Way::from_members && region && !na::allows(region.access(), na::Access::write))
        return Error(Errc::permission, "the bytes of the members cannot be written to that region");
    return {};
}

namespace {

using detail::Collected;
using detail::CollectiveCall;

Result<std::shared_ptr<PortionState>> portion_of(const std::shared_ptr<Core>& core, const bulk::Region& region,
                                                 const BulkOptions& options, Way way) {
    CINNABAR_TRY(Terms terms, terms_of(options, way));
    CINNABAR_TRY_VOID(check_region(region, way, terms.checksum));
    CINNABAR_TRY_VOID(Offers::serve(core->offers, core->node, core->options.provider));
    terms.bytes = region.bytes();
    Asking asking{core->node, core->options.provider, terms, nullptr};
    return std::make_shared<PortionState>(std::move(asking), region, core->offers);
}

// Parts of the task may run on several threads, if it runs on a pool.
struct EachMove {
    std::shared_ptr<Core> core;
    CollectiveCall call;
    std::map<Rank, bulk::Region> regions;
    BulkOptions options;
    Way way = Way::none;
    View view;         // the view when the call began, since the last member may be reached much later
    std::mutex mutex;  // guards the fields below
    std::map<Rank, bulk::Region>::const_iterator next;
    Collected sum;
};

// Returns the next move; the end if all have begun.
std::map<Rank, bulk::Region>::const_iterator take_next(EachMove& each) {
    const std::lock_guard lock(each.mutex);
    return each.next == each.regions.end() ? each.next : each.next++;
}

void add(EachMove& each, Rank rank, Result<Collected> one) {
    const std::lock_guard lock(each.mutex);
    Collected& sum = each.sum;
    if (!one) {
        sum.failures.push_back({rank, one.code(), 0, one.error().subject});
        return;
    }
    sum.count += one->count;
    for (Failure& failure : one->failures) sum.failures.push_back(std::move(failure));
}

hl::Task<void> move_in_turn(EachMove& each) {
    for (auto at = take_next(each); at != each.regions.end(); at = take_next(each)) {
        const auto& [rank, region] = *at;
        CollectiveCall call = each.call;
        call.everybody = false;
        call.only = {rank};
        call.deadline = Microseconds(0);  // the deadline of the whole call applies
        auto portion = portion_of(each.core, region, each.options, each.way);
        if (!portion) {
            add(each, rank, portion.error());
            continue;
        }
        call.portion = *std::move(portion);
        auto moving = collect_as_of(each.core, std::move(call), each.view);
        auto moved = co_await moving;
        add(each, rank, std::move(moved));
    }
}

hl::Task<Result<Collected>> move_all(std::shared_ptr<EachMove> each) {
    std::vector<hl::Task<void>> lanes;
    for (unsigned i = 0; i < each->options.members_in_flight && i < each->regions.size(); ++i)
        lanes.push_back(move_in_turn(*each));
    auto all = hl::when_all(std::move(lanes));
    co_await all;
    std::sort(each->sum.failures.begin(), each->sum.failures.end(),
              [](const Failure& a, const Failure& b) { return a.rank < b.rank; });
    co_return std::move(each->sum);
}

}  // namespace

namespace detail {

hl::Task<Result<Collected>> broadcast_bulk(std::shared_ptr<Core> core, CollectiveCall call, bulk::Region region,
                                           BulkOptions options) {
    if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
    auto portion = portion_of(core, region, options, Way::to_members);
    if (!portion) co_return portion.error();
    call.portion = *std::move(portion);
    auto collecting = collect(core, std::move(call));
    co_return co_await collecting;
}

hl::Task<Result<Collected>> move_each(std::shared_ptr<Core> core, CollectiveCall call,
                                      std::map<Rank, bulk::Region> regions, BulkOptions options, bool to_members) {
    if (call.failed != Errc::ok) co_return call.failed;
    if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
    const Way way = to_members ? Way::to_members : Way::from_members;
    if (auto sound = terms_of(options, way); !sound) co_return sound.error();
    if (auto serving = Offers::serve(core->offers, core->node, core->options.provider); !serving)
        co_return serving.error();
    const Microseconds deadline = call.deadline;
    const std::stop_token stop = std::exchange(call.stop, {});
    call.except.clear();
    const auto each = std::make_shared<EachMove>();
    each->core = core;
    each->call = std::move(call);
    each->regions = std::move(regions);
    each->options = options;
    each->way = way;
    each->view = core->view();
    each->next = each->regions.begin();
    auto moving = move_all(each);
    auto bounded = run_bounded(core, std::move(moving), deadline, stop);
    co_return co_await bounded;
}

}  // namespace detail
}  // namespace cinnabar::group
