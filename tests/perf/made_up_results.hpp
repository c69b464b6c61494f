// SPDX-License-Identifier: BSD-3-Clause
// Invented results of a run: closed and open loops, and transfers of two sizes in both directions.
#pragma once

#include "perf/results.hpp"

#include <cstdint>

namespace cinnabar::tools::perf {

inline CallResult call_row(std::uint32_t depth, double rate) {
    CallResult row;
    row.shape.depth = depth;
    row.shape.rate = rate;
    row.rates = {1000.0 * depth, 1100.0 * depth, 1050.0 * depth};
    row.timeline = Timeline(0, 1'000'000'000);
    if (rate > 0) row.from_sending.emplace();
    for (std::uint64_t i = 1; i <= 10'000; ++i) {
        row.latency.record(i * 100);
        row.timeline.record(i * 100'000 - 1, i * 100);
        if (rate > 0) row.from_sending->record(i * 50);
    }
    row.outcomes.done = 10'000;
    row.timed = 100;
    row.parts_us = {100 * depth, 0, 0, 900, 300 * depth, 700, 0, 0, 0};
    return row;
}
inline BulkResult bulk_row(std::uint64_t bytes, Direction direction) {
    BulkResult row;
    row.shape.bytes = bytes;
    row.shape.direction = direction;
    row.bandwidths = {1e9, 1.1e9};
    row.latency.record(1'000'000);
    row.outcomes.done = 1;
    return row;
}
inline Results some_results() {
    Results results;
    results.version = "1.0";
    results.target.way = "tcp";
    results.target.uri = "tcp://127.0.0.1:7000";
    for (const std::uint32_t depth : {1u, 4u, 16u}) results.calls.push_back(call_row(depth, 0));
    for (const double rate : {1000.0, 2000.0}) results.calls.push_back(call_row(1, rate));
    for (const auto direction : {Direction::pull, Direction::push}) {
        for (const std::uint64_t bytes : {4096u, 65'536u}) results.bulk.push_back(bulk_row(bytes, direction));
    }
    results.machine = {{4096, 5e9}, {65'536, 6e9}};
    return results;
}

}  // namespace cinnabar::tools::perf
