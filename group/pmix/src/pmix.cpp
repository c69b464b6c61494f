// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"
#include "off_loop.hpp"

#include <cinnabar/group/announcement.hpp>
#include <cinnabar/group/pmix.hpp>
#include <cinnabar/hl/with_deadline.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::group {
namespace {

std::string key_of(const GroupOptions& options) {
    return std::to_string(rpc::rpc_id(options.name)) + '.' + std::to_string(options.provider);
}

// Gives `text` to all processes of the job, and gets theirs in place of their addresses.
hl::Task<Result<PmixJob>> exchange_text(hl::NodeRef node, const GroupOptions& options, std::string text) {
    // PMIx itself may hang, for example if its server was stopped.
    constexpr Microseconds grace{3'000'000};
    constexpr Microseconds longest = std::chrono::hours(24 * 365);  // join_time may be no_deadline
    const auto limit = std::chrono::ceil<std::chrono::seconds>(std::min(options.join_time, longest));
    auto exchanging =
        with_deadline(off_loop(node, [group = key_of(options), limit,
                                      text = std::move(text)] { return exchange_addresses(group, text, limit); }),
                      limit + grace);
    co_return co_await exchanging;
}

}  // namespace

hl::Task<Result<PmixJob>> exchange_by_pmix(hl::NodeRef node, GroupOptions options) {
    if (node.address().empty())
        co_return Error(Errc::invalid_argument, "a member must listen: make the node with Node::listen");
    auto exchanging = exchange_text(node, options, node.address());
    co_return co_await exchanging;
}

hl::Task<Result<Group>> bootstrap_by_pmix(hl::NodeRef node, GroupOptions options) {
    auto announcement = Announcement::make(node, options);
    if (!announcement) co_return std::move(announcement).error();
    auto exchanging = exchange_text(node, options, announcement->line());
    Result<PmixJob> job = co_await exchanging;
    if (!job) co_return std::move(job).error();
    co_return std::move(*announcement).start(job->roster.addresses, job->roster.self);
}

}  // namespace cinnabar::group
