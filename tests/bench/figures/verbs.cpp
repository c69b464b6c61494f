// SPDX-License-Identifier: BSD-3-Clause
// Calls, bulk and saves over verbs, between the two ends of the cables of the machine of tests/vm, compared with bare
// verbs programs that do the same. Processors and devices are emulated there, so only ratios are meaningful.
#include "../limits/verbs.hpp"

#include "../harness/scratch.hpp"
#include "../ours/ours.hpp"
#include "../ours/save.hpp"
#include "../peers/perftest.hpp"
#include "figures.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr std::size_t payload_bytes = 64;
constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t buffers = 8;
constexpr std::size_t file_bytes = 256 * mebibyte;

// Includes the headers of a request and of a reply (docs/wire-format.md), and the plugin's own
// (docs/wire-format-verbs.md).
constexpr std::size_t plugin_header_bytes = 16;
constexpr FrameBytes frame{payload_bytes + 32 + plugin_header_bytes, payload_bytes + 16 + plugin_header_bytes};

// For subjects that start processes for each slice, or whose slices are whole files.
Effort few_slices(const Settings& settings) {
    auto effort = settings.effort;
    effort.slice = std::chrono::milliseconds{2000};
    effort.rounds_min = settings.quick ? 2 : 5;
    return effort;
}

std::vector<Row> run_spin(const Settings& settings) {
    Contest contest{"verbs.rxe.rpc.rtt.spin", "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 1.15},
                    "bare verbs ping-pong"};
    const auto host = far_host(RdmaKind::rxe);
    const auto limit = [&] { return make_verbs_ping_pong(settings.cores, host, frame); };
    const auto first = limit();
    const auto second = limit();
    const auto ours = make_our_rpc(settings.cores, {payload_bytes, 1, false, Wire::verbs_rxe});
    std::vector<Row> rows{row_of(contest, compare(*ours, *first, *second, contest.metric, settings.effort))};
    // For orientation.
    const auto tool = PerfTool::send_latency;
    contest.name += std::string{"."} + name_of(tool);
    contest.bar.reset();
    contest.limit_name = name_of(tool);
    const auto theirs = make_perftest(settings.cores, RdmaKind::rxe, tool, payload_bytes, 1);
    rows.push_back(row_of(contest, compare(*ours, *theirs, *theirs, contest.metric, few_slices(settings))));
    return rows;
}

Figure bulk_figure(RdmaKind kind, Direction direction) {
    const bool pull = direction == Direction::to_client;
    const auto tool = pull ? PerfTool::read_bandwidth : PerfTool::write_bandwidth;
    const Contest contest{std::string{"verbs."} + name_of(kind) + (pull ? ".bulk.pull.1m" : ".bulk.push.1m"),
                          "MB/s",
                          1e-6,
                          Metric::work_per_second,
                          Bar{Sense::at_least, 0.90},
                          name_of(tool)};
    return {
        contest.name, [=](const Settings& settings) {
            const auto wire = kind == RdmaKind::rxe ? Wire::verbs_rxe : Wire::verbs_siw;
            const auto ours = make_our_bulk(settings.cores, {direction, mebibyte, 1, buffers, wire});
            const auto theirs = make_perftest(settings.cores, kind, tool, mebibyte, buffers);
            return std::vector{row_of(contest, compare(*ours, *theirs, *theirs, contest.metric, few_slices(settings)))};
        }};
}

Figure save_figure(FileMove move) {
    const bool push = move == FileMove::push;
    Contest contest{push ? "verbs.rxe.save.push" : "verbs.rxe.save.pull",
                    "MB/s",
                    1e-6,
                    Metric::work_per_second,
                    Bar{Sense::at_least, 0.85},
                    "bare verbs program"};
    return {contest.name, [=](const Settings& settings) mutable {
                if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
                const Scratch scratch{2 * file_bytes + file_bytes / 4};  // the source and one target
                const auto source = scratch.path() / "source";
                const auto root = scratch.path() / "root";
                std::filesystem::create_directory(root);
                make_file(source, file_bytes);
                const auto host = far_host(RdmaKind::rxe);
                const auto bare = make_verbs_save(settings.cores, host, move, source, root);
                const auto listen = "verbs://" + host + ":0";
                std::vector<std::string> options;
                if (push) options.emplace_back("--push");
                std::vector<Row> rows;
                const auto compare_with = [&] {
                    const auto ours = make_our_save(settings.cores, settings.tool, source, root, listen, options);
                    rows.push_back(row_of(contest, compare(*ours, *bare, *bare, contest.metric, few_slices(settings))));
                };
                options.emplace_back("--no-checksum");
                compare_with();
                // With the checksum, which the bare program does not compute; only shown.
                options.pop_back();
                contest.name += ".checksum";
                contest.bar.reset();
                compare_with();
                return rows;
            }};
}

std::vector<Row> run_allocations(const Settings& settings) {
    const auto ours = make_our_rpc(settings.cores, {payload_bytes, 8, false, Wire::verbs_rxe});
    for (int i = 0; i < 3; ++i) ours->run_slice(settings.effort.slice);
    Slice total;
    for (int i = 0; i < 10; ++i) total += ours->run_slice(settings.effort.slice);
    const auto each = static_cast<double>(total.client.allocations + total.server.allocations) / total.work;
    return {count_row("rpc.allocations.verbs", each, "per call", 0)};
}

}  // namespace

std::vector<Figure> verbs_figures() {
    if (!std::filesystem::exists("/sys/class/infiniband/rxe0") ||
        !std::filesystem::exists("/sys/class/infiniband/siw0"))
        return {};
    // The saves come first: a child must not send on a device that its parent has opened, and the other figures open
    // the devices here.
    return {save_figure(FileMove::push),
            save_figure(FileMove::pull),
            {"verbs.rxe.rpc.rtt.spin", run_spin},
            bulk_figure(RdmaKind::rxe, Direction::to_client),
            bulk_figure(RdmaKind::rxe, Direction::to_server),
            bulk_figure(RdmaKind::siw, Direction::to_client),
            {"rpc.allocations.verbs", run_allocations}};
}

}  // namespace cinnabar::bench
