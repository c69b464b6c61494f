// SPDX-License-Identifier: BSD-3-Clause
// save.small: a folder of 10,000 files of 4 KiB over tcp, from tmpfs to tmpfs, compared with `rsync` to its own daemon
// and with `tar` through a socket.
#include "../harness/scratch.hpp"
#include "../ours/save_tree.hpp"
#include "../peers/rsync.hpp"
#include "../peers/tree_movers.hpp"
#include "figures.hpp"

#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::uint64_t file_bytes = 4096;
constexpr std::size_t runs_alone = 3;

// Few rounds, because each slice is a whole save.
Effort save_effort(const Settings& settings) {
    auto effort = settings.effort;
    effort.rounds_min = settings.quick ? 3 : 8;
    return effort;
}

std::vector<Row> run_save_small(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const std::uint64_t files = settings.quick ? 2000 : 10'000;
    const Scratch scratch{8 * files * file_bytes};
    const auto source = scratch.path() / "small";
    make_folder(source, files, file_bytes);
    const auto root = [&](const char* name) {
        auto path = scratch.path() / name;
        std::filesystem::create_directory(path);
        return path;
    };
    const auto ours = make_our_tree_save(settings.cores, settings.tool, source, root("batch"), {});
    const auto each = make_our_tree_save(settings.cores, settings.tool, source, root("each"), {"--sync=each"});
    const auto tar = make_tar(source, root("tar"));
    const auto tar_again = make_tar(source, root("tar2"));

    std::vector<Row> rows;
    const auto contest = [](const char* name, double bar, const char* what) {
        return Contest{name, "files/s", 1, Metric::work_per_second, Bar{Sense::at_least, bar}, what};
    };
    const auto batch_row = contest("save.small", 3, "rsync to its own daemon");
    const auto each_row = contest("save.small.each", 2, "rsync to its own daemon");
    const auto effort = save_effort(settings);
    if (has_rsync()) {
        const auto rsync = make_rsync(settings.cores, source, root("rsync"));
        const auto rsync_again = make_rsync(settings.cores, source, root("rsync2"));
        rows.push_back(row_of(batch_row, compare(*ours, *rsync, *rsync_again, batch_row.metric, effort)));
        rows.push_back(row_of(each_row, compare(*each, *rsync, *rsync_again, each_row.metric, effort)));
    } else {
        rows.push_back(row_alone(batch_row, *ours, runs_alone, no_rsync, effort));
        rows.push_back(row_alone(each_row, *each, runs_alone, no_rsync, effort));
    }
    const auto tar_row = contest("save.small.tar", 0.7, "tar through a socket");
    rows.push_back(row_of(tar_row, compare(*ours, *tar, *tar_again, tar_row.metric, effort)));
    return rows;
}

}  // namespace

std::vector<Figure> save_small_figures() { return {{"save.small", run_save_small}}; }

}  // namespace cinnabar::bench
