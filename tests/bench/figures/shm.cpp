// SPDX-License-Identifier: BSD-3-Clause
// Calls and bulk in shared memory, compared with the least that memory and the kernel require for the same work.
#include "../harness/scratch.hpp"
#include "../limits/save.hpp"
#include "../ours/ours.hpp"
#include "../ours/save.hpp"
#include "beside_mercury.hpp"
#include "figures.hpp"

#include <functional>
#include <memory>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::size_t payload_bytes = 64;
constexpr std::size_t mebibyte = 1 << 20;
constexpr std::size_t buffers = 8;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

// Includes the headers of a request and of a reply (docs/wire-format.md).
constexpr FrameBytes frame{payload_bytes + 32, payload_bytes + 16};

std::vector<Row> run_spin(const Settings& settings) {
    Contest contest{"shm.rpc.rtt.spin.ring", "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 1.3},
                    "ring ping-pong"};
    const auto ours = make_our_rpc(settings.cores, {payload_bytes, 1, false, Wire::shm});
    const auto ring = [&] { return make_ring_ping_pong(settings.cores, frame); };
    std::vector<Row> rows;
    const auto compare_with = [&](const std::function<std::unique_ptr<Subject>()>& limit) {
        const auto first = limit();
        const auto second = limit();
        rows.push_back(row_of(contest, compare(*ours, *first, *second, contest.metric, settings.effort)));
    };
    compare_with(ring);
    // For orientation: a ring by itself checks, looks up and runs nothing.
    contest.name = "shm.rpc.rtt.spin";
    contest.bar.reset();
    contest.limit_name = "2 x ring ping-pong + 0.3 us";
    compare_with([&] { return make_allowance(ring(), 2.0, 0.3e-6); });
    return rows;
}

std::vector<Row> run_sleep(const Settings& settings) {
    const Contest contest{"shm.rpc.block.cpu", "us", 1e6, Metric::cpu_per_work, Bar{Sense::at_most, 1.5},
                          "eventfd ping-pong"};
    return {run_contest(
        contest,
        [](const Settings& s) {
            return make_our_rpc(s.cores, {payload_bytes, 1, true, Wire::shm});
        },
        [](const Settings& s) { return make_eventfd_ping_pong(s.cores); }, settings)};
}

// 64 in flight are compared with a number of calls per second, which is the bar; four times Mercury's rate would do as
// well (shm.rpc.rate.64.mercury).
std::vector<Row> run_rate(const Settings& settings) {
    constexpr double wanted = 10e6;
    std::vector<Row> rows;
    for (const std::size_t in_flight : {std::size_t{64}, std::size_t{16}}) {
        const auto ours = make_our_rpc(settings.cores, {payload_bytes, in_flight, false, Wire::shm});
        ours->run_slice(settings.effort.slice);
        std::vector<double> rates;
        const auto end = seconds_now() + settings.effort.seconds_max / 2;
        while (rates.size() < settings.effort.rounds_min || seconds_now() < end) {
            rates.push_back(metric_of(Metric::work_per_second, ours->run_slice(settings.effort.slice)));
        }
        Row row;
        row.name = "shm.rpc.rate." + std::to_string(in_flight);
        row.value = median(rates) * 1e-3;
        row.unit = "kcalls/s";
        row.remark = std::to_string(rates.size()) + " slices";
        if (in_flight == 64) {
            std::vector<double> ratios;
            for (const double rate : rates) ratios.push_back(rate / wanted);
            row.limit_name = "10 million calls a second";
            row.limit = wanted * 1e-3;
            row.ratio = bootstrap_median(ratios);
            row.bar = Bar{Sense::at_least, 1.0};
            row.verdict = judge(*row.ratio, *row.bar);
        }
        rows.push_back(row);
    }
    return rows;
}

std::vector<Row> run_allocations(const Settings& settings) {
    const auto ours = make_our_rpc(settings.cores, {payload_bytes, 8, false, Wire::shm});
    for (int i = 0; i < 3; ++i) ours->run_slice(settings.effort.slice);
    Slice total;
    for (int i = 0; i < 10; ++i) total += ours->run_slice(settings.effort.slice);
    const auto each = static_cast<double>(total.client.allocations + total.server.allocations) / total.work;
    return {count_row("rpc.allocations.shm", each, "per call", 0)};
}

Figure bulk_figure(const std::string& name, Direction direction) {
    const Contest contest{name, "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 0.95}, "process_vm_readv"};
    return {name, [=](const Settings& settings) {
                return std::vector{run_contest(
                    contest,
                    [=](const Settings& s) {
                        return make_our_bulk(s.cores, {direction, mebibyte, 1, buffers, Wire::shm});
                    },
                    [](const Settings& s) { return make_cross_memory_copy(s.cores, mebibyte); }, settings)};
            }};
}

// Compared with both ways to copy such memory, on huge pages.
std::vector<Row> run_allocated(const Settings& settings) {
    const Contest copy{"shm.bulk.pull.alloc.1m.memcpy", "MB/s",  1e-6, Metric::work_per_second,
                       Bar{Sense::at_least, 0.95},      "memcpy"};
    Contest across = copy;
    across.name = "shm.bulk.pull.alloc.1m.readv";
    across.limit_name = "process_vm_readv";
    const auto ours = [](const Settings& s) {
        return make_our_bulk(s.cores, {Direction::to_client, mebibyte, 1, buffers, Wire::shm, true});
    };
    return {
        run_contest(
            copy, ours, [](const Settings& s) { return make_memory_copy(s.cores, mebibyte, Pages::huge); }, settings),
        run_contest(
            across, ours, [](const Settings& s) { return make_cross_memory_copy(s.cores, mebibyte, Pages::huge); },
            settings)};
}

std::vector<Row> run_save(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const auto bytes = settings.quick ? gibibyte / 4 : 2 * gibibyte;
    const Scratch scratch{2 * bytes + bytes / 4};  // the source and one target
    const auto source = scratch.path() / "source";
    const auto root = scratch.path() / "root";
    std::filesystem::create_directory(root);
    make_file(source, bytes);
    auto effort = settings.effort;
    effort.rounds_min = settings.quick ? 3 : 8;  // few rounds, because each slice is a whole save
    const auto bare = make_bare_save(settings.cores, Duties::copied, source, root);
    const auto again = make_bare_save(settings.cores, Duties::copied, source, root);
    Contest contest{"shm.save.tmpfs",           "MB/s",        1e-6, Metric::work_per_second,
                    Bar{Sense::at_least, 0.90}, "bare program"};
    std::vector<Row> rows;
    {
        const auto ours = make_our_save(settings.cores, settings.tool, source, root, "shm://");
        rows.push_back(row_of(contest, compare(*ours, *bare, *again, contest.metric, effort)));
    }
    contest.bar.reset();
    contest.name = "shm.save.tmpfs.cp";
    const auto copy = make_copy_command(source, root);
    rows.push_back(row_of(contest, compare(*copy, *bare, *again, contest.metric, effort)));
    return rows;
}

void add_mercury(std::vector<Figure>& figures) {
    const auto calls = [](std::size_t in_flight) {
        return [=](const Settings& s) { return make_our_rpc(s.cores, {payload_bytes, in_flight, false, Wire::shm}); };
    };
    const auto bulk = [](Direction direction, bool allocated) {
        return [=](const Settings& s) {
            return make_our_bulk(s.cores, {direction, mebibyte, 1, buffers, Wire::shm, allocated});
        };
    };
    const auto speed = Metric::work_per_second;
    figures.push_back(beside_mercury("shm.rpc.rtt.spin", "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 0.8},
                                     {MercuryWire::sm, MercuryTool::rate, payload_bytes, 1}, calls(1)));
    figures.push_back(beside_mercury("shm.rpc.rate.16", "kcalls/s", 1e-3, speed, Bar{Sense::at_least, 4.0},
                                     {MercuryWire::sm, MercuryTool::rate, payload_bytes, 16}, calls(16)));
    figures.push_back(beside_mercury("shm.rpc.rate.64", "kcalls/s", 1e-3, speed, Bar{Sense::at_least, 4.0},
                                     {MercuryWire::sm, MercuryTool::rate, payload_bytes, 64}, calls(64)));
    figures.push_back(beside_mercury("shm.bulk.pull.1m", "MB/s", 1e-6, speed, Bar{Sense::at_least, 1.2},
                                     {MercuryWire::sm, MercuryTool::read, mebibyte, buffers},
                                     bulk(Direction::to_client, false)));
    figures.push_back(beside_mercury("shm.bulk.push.1m", "MB/s", 1e-6, speed, Bar{Sense::at_least, 1.2},
                                     {MercuryWire::sm, MercuryTool::write, mebibyte, buffers},
                                     bulk(Direction::to_server, false)));
    figures.push_back(beside_mercury("shm.bulk.pull.alloc.1m", "MB/s", 1e-6, speed, Bar{Sense::at_least, 2.5},
                                     {MercuryWire::sm, MercuryTool::read, mebibyte, buffers},
                                     bulk(Direction::to_client, true)));
}

}  // namespace

std::vector<Figure> shm_figures() {
    std::vector<Figure> figures{{"shm.rpc.rtt.spin", run_spin},
                                {"shm.rpc.block.cpu", run_sleep},
                                {"shm.rpc.rate", run_rate},
                                {"rpc.allocations.shm", run_allocations},
                                bulk_figure("shm.bulk.pull.1m", Direction::to_client),
                                bulk_figure("shm.bulk.push.1m", Direction::to_server),
                                {"shm.bulk.pull.alloc.1m", run_allocated},
                                {"shm.save.tmpfs", run_save}};
    if (has_mercury(MercuryWire::sm)) add_mercury(figures);
    return figures;
}

}  // namespace cinnabar::bench
