// SPDX-License-Identifier: BSD-3-Clause
// tcp.save.tmpfs: one large file from tmpfs to tmpfs, `cinnabar save` compared with the bare program. sendfile and cp
// are shown next to it.
#include "../limits/save.hpp"

#include "../harness/scratch.hpp"
#include "../ours/save.hpp"
#include "figures.hpp"

#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

// Few rounds, because each slice is a whole save.
Effort save_effort(const Settings& settings) {
    auto effort = settings.effort;
    effort.rounds_min = settings.quick ? 3 : 8;
    return effort;
}

std::vector<Row> run_save(const Settings& settings) {
    const auto bytes = settings.quick ? gibibyte / 4 : 2 * gibibyte;
    const Scratch scratch{2 * bytes + bytes / 4};  // the source and one target

    const auto source = scratch.path() / "source";
    const auto root = scratch.path() / "root";
    std::filesystem::create_directory(root);
    make_file(source, bytes);
    const auto bare = make_bare_save(settings.cores, Duties::hashed, source, root);
    const auto again = make_bare_save(settings.cores, Duties::hashed, source, root);
    const auto kernel = make_bare_save(settings.cores, Duties::sendfile, source, root);
    const auto copy = make_copy_command(source, root);

    std::vector<Row> rows;
    Contest contest{"tcp.save.tmpfs",           "MB/s",        1e-6, Metric::work_per_second,
                    Bar{Sense::at_least, 0.90}, "bare program"};
    {
        if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
        const auto ours = make_our_save(settings.cores, settings.tool, source, root);
        rows.push_back(row_of(contest, compare(*ours, *bare, *again, contest.metric, save_effort(settings))));
    }
    // For orientation, with less time for each.
    contest.bar.reset();
    contest.name = "tcp.save.tmpfs.sendfile";
    rows.push_back(row_of(contest, compare(*kernel, *bare, *again, contest.metric, save_effort(settings))));
    contest.name = "tcp.save.tmpfs.cp";
    rows.push_back(row_of(contest, compare(*copy, *bare, *again, contest.metric, save_effort(settings))));
    return rows;
}

}  // namespace

std::vector<Figure> save_figures() { return {{"tcp.save.tmpfs", run_save}}; }

}  // namespace cinnabar::bench
