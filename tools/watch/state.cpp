// SPDX-License-Identifier: BSD-3-Clause
#include "watch/state.hpp"

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/histogram.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace cinnabar::tools::watch {
namespace {

Error explained(Error error) {
    if (error.code == Errc::no_such_rpc) {
        error.hint =
            "it does not report its state: set NodeOptions::introspection there, or --introspection of the command";
    } else if (error.code == Errc::permission) {
        error.hint =
            "it reports its state only to its own user, over shm: ask from there, or allow anyone "
            "(Introspection::anyone)";
    }
    return error;
}

// Reads all pages of a list, up to pages_max, and passes each to `keep`.
template <typename R, typename Keep>
Result<void> read(const hl::Connected& from, const R& rpc, Microseconds deadline, bool& cut, Keep keep,
                  bool histograms = false) {
    look::Ask ask;
    ask.histograms = histograms;
    for (unsigned pages = 0; pages < pages_max; ++pages) {
        auto page = from.node.call(rpc, from.peer, ask, deadline).wait();
        if (!page) return explained(page.error());
        keep(*page);
        if (page->next == 0) return {};
        ask.from = page->next;
    }
    cut = true;
    return {};
}

// A `keep` that appends the items of a page to a list.
template <typename T>
auto into(std::vector<T>& list) {
    return [&list](auto& page) { std::move(page.items.begin(), page.items.end(), std::back_inserter(list)); };
}

// Appends to `list` the entries of a page, one for each peer. `before` and `now`: the number of peers before this page,
// and with this page. The node is untrusted, so the list is resized to have `now` entries; it stays empty if no page
// had any entry.
template <typename T>
void keep_beside(std::vector<T>& list, std::vector<T>& page, std::size_t before, std::size_t now) {
    if (page.empty() && list.empty()) return;
    list.resize(before);
    std::move(page.begin(), page.end(), std::back_inserter(list));
    list.resize(now);
}

void keep_peers(State& state, look::PeerPage& page) {
    const std::size_t before = state.peers.size();
    into(state.peers)(page);
    keep_beside(state.traffic, page.traffic, before, state.peers.size());
    keep_beside(state.histograms, page.histograms, before, state.peers.size());
}

}  // namespace

Result<State> ask(const hl::Connected& node, const Wanted& wanted, Microseconds deadline) {
    State state;
    auto report = node.node.call(look::node, node.peer, deadline).wait();
    if (!report) return explained(report.error());
    state.when = std::chrono::steady_clock::now();
    state.node = *std::move(report);
    if (wanted.rpcs) CINNABAR_TRY_VOID(read(node, look::rpcs, deadline, state.cut, into(state.rpcs)));
    if (wanted.peers)
        CINNABAR_TRY_VOID(read(
            node, look::peers, deadline, state.cut, [&state](look::PeerPage& page) { keep_peers(state, page); },
            wanted.histograms));
    if (wanted.calls) CINNABAR_TRY_VOID(read(node, look::calls, deadline, state.cut, into(state.calls)));
    return state;
}

std::uint64_t total(const std::vector<std::uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

double mean_us(const std::vector<std::uint64_t>& counts) {
    double sum_us = 0;
    double count = 0;
    for (std::size_t i = 0; i < std::min(counts.size(), hl::Histogram::buckets); ++i) {
        const auto from_us = static_cast<double>(hl::Histogram::lower_edge_us(i));
        const auto to_us = static_cast<double>(hl::Histogram::lower_edge_us(i + 1));
        sum_us += static_cast<double>(counts[i]) * (from_us + to_us) / 2;
        count += static_cast<double>(counts[i]);
    }
    return count == 0 ? 0 : sum_us / count;
}

double quantile_us(const std::vector<std::uint64_t>& counts, double fraction) {
    hl::Histogram histogram;
    std::copy_n(counts.begin(), std::min(counts.size(), hl::Histogram::buckets), histogram.counts.begin());
    return static_cast<double>(histogram.quantile_us(fraction));
}

}  // namespace cinnabar::tools::watch
