// SPDX-License-Identifier: BSD-3-Clause
#include "group_bulk.hpp"

#include "../../group/processes.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/bootstrap.hpp>

#include <chrono>
#include <cstring>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

using group::Group;
using group::Rank;

constexpr Microseconds patience{60'000'000};

group::Source source_of(const std::string& folder, std::size_t members, std::size_t rank) {
    group::Source source;
    source.text = "folder:" + folder;
    source.rank = static_cast<Rank>(rank);
    source.size = static_cast<Rank>(members);
    source.run = "bench";
    return source;
}

Group join(const hl::Node& node, const std::string& folder, std::size_t members, std::size_t rank) {
    return sync_wait(group::bootstrap(node, source_of(folder, members, rank))).value();
}

// A member, until its parent lets it go.
void serve(PartnerSide& side, const Cores& cores, const std::string& listen, const std::string& folder,
           std::size_t members, std::size_t rank) {
    pin_to_both(cores);
    side.announce("");  // before there is a thread in any of the processes, and before the others can be found
    const hl::Node node = hl::Node::listen(listen).value();
    const Group group = join(node, folder, members, rank);
    test::serve_words(node, group, [] {});
    test::serve_late(node, group, [] {});  // for get_pid
    while (side.wait_slice()) side.end_slice();
    group.leave();
}

group::BulkOptions to_others() {
    static constexpr Rank self[] = {0};
    group::BulkOptions options;
    options.call.deadline = patience;
    options.call.except = self;
    return options;
}

}  // namespace

BulkGroup::BulkGroup(Cores cores, const std::string& listen, const std::string& folder, std::size_t receivers,
                     std::size_t bytes)
    : receivers_(receivers) {
    const std::size_t members = receivers + 1;
    for (std::size_t rank = 1; rank < members; ++rank) {
        others_.push_back(std::make_unique<Partner>(
            cores.client, [&](PartnerSide& side) { serve(side, cores, listen, folder, members, rank); }));
    }
    pin_to_both(cores);
    node_.emplace(hl::Node::listen(listen).value());
    group_.emplace(join(*node_, folder, members, 0));
    sync_wait(hl::with_deadline(group_->wait_for_members(members), patience)).value();
    // A member may be present for a moment before it serves.
    const double end = seconds_now() + 30;
    while (!sync_wait(group_->gather(test::get_pid, to_others().call)).value().all()) {
        if (seconds_now() > end) throw std::runtime_error{"not all members of the group answer"};
    }
    region_ = node_->allocate(bytes).value();
    const auto words = test::words(bytes / sizeof(std::uint64_t));
    std::memcpy(region_.contiguous().data(), words.data(), words.size() * sizeof(std::uint64_t));
}

double BulkGroup::broadcast(bool compared) {
    const auto begin = seconds_now();
    const auto reached = sync_wait(group_->broadcast_bulk(test::load_words, compared, region_, to_others())).value();
    const auto took = seconds_now() - begin;
    if (!reached.all() || reached.count != receivers_) throw std::runtime_error{"a member has not got all bytes"};
    return took;
}

double BulkGroup::flow() { return broadcast(false); }

void BulkGroup::check() { (void)broadcast(true); }

double BulkGroup::store_and_forward() {
    const auto view = group_->view();
    const std::vector<Rank> ranks(view.present().begin() + 1, view.present().end());
    if (ranks.size() != receivers_) throw std::runtime_error{"a member of the group is gone"};
    const auto begin = seconds_now();
    sync_wait(test::pass_on(*group_, region_, ranks)).value();
    return seconds_now() - begin;
}

}  // namespace cinnabar::bench
