// SPDX-License-Identifier: BSD-3-Clause
// Files as memory: sent to a peer, compared with `sendfile`, and copied within the host, compared with `cp`.
#include "../harness/scratch.hpp"
#include "../limits/file_send.hpp"
#include "../limits/save.hpp"
#include "../ours/file_moves.hpp"
#include "figures.hpp"

namespace cinnabar::bench {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::size_t room_bytes = 256 << 20;

// Few rounds, because each slice is a whole file.
Effort file_effort(const Settings& settings) {
    Effort effort = settings.effort;
    effort.rounds_min = settings.quick ? 3 : 8;
    return effort;
}

std::vector<Row> run_send(const Settings& settings) {
    const auto bytes = settings.quick ? gibibyte / 2 : 2 * gibibyte;
    const Scratch scratch{bytes + bytes / 4};
    const auto source = scratch.path() / "source";
    make_file(source, bytes);
    const auto limit = make_bare_sendfile(settings.cores, source, room_bytes);
    const auto again = make_bare_sendfile(settings.cores, source, room_bytes);
    const auto ours = make_file_send(settings.cores, source, room_bytes);
    Contest contest{"file.send", "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 0.95}, "sendfile"};
    Contest cpu{"file.send.cpu", "s/GiB", gibibyte, Metric::cpu_per_work, Bar{Sense::at_most, 1.1}, "sendfile"};
    std::vector<Row> rows;
    for (const Contest& each : {contest, cpu})
        rows.push_back(row_of(each, compare(*ours, *limit, *again, each.metric, file_effort(settings))));
    return rows;
}

std::vector<Row> run_local(const Settings& settings) {
    const auto bytes = settings.quick ? gibibyte / 2 : 2 * gibibyte;
    const Scratch scratch{2 * bytes + bytes / 4};  // the source and one target
    const auto source = scratch.path() / "source";
    make_file(source, bytes);
    const auto copy = make_copy_command(source, scratch.path());
    const auto ours = make_file_copy(settings.cores, source, scratch.path(), Wire::shm);
    Contest contest{"file.local", "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 0.90}, "cp"};
    std::vector<Row> rows{row_of(contest, compare(*ours, *copy, *copy, contest.metric, file_effort(settings)))};
    const Contest cpu{"file.local.cpu", "s/GiB", gibibyte, Metric::cpu_per_work, {}, "cp"};  // for orientation
    rows.push_back(row_of(cpu, compare(*ours, *copy, *copy, cpu.metric, file_effort(settings))));
    return rows;
}

}  // namespace

std::vector<Figure> file_figures() { return {{"file.send", run_send}, {"file.local", run_local}}; }

}  // namespace cinnabar::bench
