// SPDX-License-Identifier: BSD-3-Clause
// Bulk over tcp: contiguous memory compared with a raw stream, segmented memory compared with contiguous memory.
#include "../ours/ours.hpp"
#include "../ours/rtt_under_bulk.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t buffers = 8;

MakeSubject ours(Direction direction, std::size_t segments) {
    return [=](const Settings& settings) {
        return make_our_bulk(settings.cores, {direction, mebibyte, segments, buffers});
    };
}

MakeSubject raw(Direction direction) {
    return [=](const Settings& settings) { return make_stream(settings.cores, direction, mebibyte, buffers); };
}

Figure against(const std::string& name, double bar, const std::string& limit_name, const MakeSubject& our_side,
               const MakeSubject& limit) {
    const Contest contest{name, "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, bar}, limit_name};
    return {name,
            [=](const Settings& settings) { return std::vector{run_contest(contest, our_side, limit, settings)}; }};
}

// How a transfer of 1 GiB affects small calls between the same two contexts.
std::vector<Row> run_under_bulk(const Settings& settings) {
    constexpr std::size_t payload_bytes = 64;
    Contest contest{"tcp.rpc.rtt.under_bulk", "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 3}, "no bulk"};
    std::vector<Row> rows;
    for (const auto direction : {Direction::to_client, Direction::to_server}) {
        contest.name += direction == Direction::to_client ? ".pull" : ".push";
        const auto both = make_rtt_under_bulk(settings.cores, direction, payload_bytes);
        rows.push_back(row_of(contest, compare(*both.loaded, *both.idle, *both.idle, contest.metric, settings.effort)));
        contest.name = "tcp.rpc.rtt.under_bulk";
    }
    return rows;
}

}  // namespace

std::vector<Figure> bulk_figures() {
    constexpr auto pull = Direction::to_client;
    constexpr auto push = Direction::to_server;
    return {
        against("tcp.bulk.pull.1m", 0.95, "raw stream", ours(pull, 1), raw(pull)),
        against("tcp.bulk.push.1m", 0.95, "raw stream", ours(push, 1), raw(push)),
        against("tcp.bulk.pull.256seg", 0.90, "ours, contiguous", ours(pull, 256), ours(pull, 1)),
        {"tcp.rpc.rtt.under_bulk", run_under_bulk},
    };
}

}  // namespace cinnabar::bench
