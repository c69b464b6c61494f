// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"
#include "off_loop.hpp"

#include <cinnabar/group/pmix.hpp>
#include <cinnabar/hl/with_deadline.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <atomic>
#include <utility>

namespace cinnabar::group {
namespace {

// A key of its own for each call: PMIx keeps what was put before, and may return it again.
std::string next_key(const GroupOptions& options) {
    static std::atomic<std::uint64_t> calls{0};
    const std::uint64_t call = calls.fetch_add(1, std::memory_order_relaxed);
    std::string key = "cinnabar.group.";
    key += std::to_string(call) + '.' + std::to_string(rpc::rpc_id(options.name));
    return key + '.' + std::to_string(options.provider);
}

}  // namespace

hl::Task<Result<PmixJob>> exchange_by_pmix(hl::NodeRef node, GroupOptions options) {
    // PMIx itself may hang, for example if its server was stopped.
    constexpr Microseconds grace{3'000'000};
    const std::string key = next_key(options);
    if (node.address().empty())
        co_return Error(Errc::invalid_argument, "a member must listen: make the node with Node::listen");
    const auto limit = std::chrono::ceil<std::chrono::seconds>(options.join_time);
    auto exchanging = with_deadline(
        off_loop(node, [key, limit, address = node.address()] { return exchange_addresses(key, address, limit); }),
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
