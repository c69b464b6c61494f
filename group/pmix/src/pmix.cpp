// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"
#include "off_loop.hpp"

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

}  // namespace

hl::Task<Result<PmixJob>> exchange_by_pmix(hl::NodeRef node, GroupOptions options) {
    // PMIx itself may hang, for example if its server was stopped.
    constexpr Microseconds grace{3'000'000};
    if (node.address().empty())
        co_return Error(Errc::invalid_argument, "a member must listen: make the node with Node::listen");
    constexpr Microseconds longest = std::chrono::hours(24 * 365);  // join_time may be no_deadline
    const auto limit = std::chrono::ceil<std::chrono::seconds>(std::min(options.join_time, longest));
    auto exchanging =
        with_deadline(off_loop(node, [group = key_of(options), limit,
                                      address = node.address()] { return exchange_addresses(group, address, limit); }),
                      limit + grace);
    co_return co_await exchanging;
}

hl::Task<Result<Group>> bootstrap_by_pmix(hl::NodeRef node, GroupOptions options) {
    auto exchanging = exchange_by_pmix(node, options);
    Result<PmixJob> job = co_await exchanging;
    if (!job) co_return std::move(job).error();
    co_return Group::start(node, std::move(job->roster), std::move(options));
}

}  // namespace cinnabar::group
