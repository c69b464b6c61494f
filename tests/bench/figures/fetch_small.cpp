// SPDX-License-Identifier: BSD-3-Clause
// fetch.small: as save.small, in the other direction. A folder of 10,000 files of 4 KiB is fetched from a server over
// tcp, from tmpfs to tmpfs, and compared with `rsync` from its daemon and with `tar` through a socket.
#include "../harness/command_subject.hpp"
#include "../harness/scratch.hpp"
#include "../ours/save_server.hpp"
#include "../peers/rsync.hpp"
#include "../peers/tree_movers.hpp"
#include "figures.hpp"

#include <stdexcept>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t file_bytes = 4096;
constexpr std::size_t runs_alone = 3;

// Few rounds, because each slice is a whole fetch.
Effort fetch_effort(const Settings& settings) {
    auto effort = settings.effort;
    effort.rounds_min = settings.quick ? 3 : 8;
    effort.seconds_max = settings.quick ? 3 : effort.seconds_max;
    return effort;
}

// A command that fetches the folder to `target`, which is removed after each run. Work: files.
std::unique_ptr<Subject> make_fetch(std::vector<std::string> words, const fs::path& target) {
    return make_command({std::move(words), {}, [target] {
                             const auto files = static_cast<double>(count_files(target));
                             fs::remove_all(target);
                             return files;
                         }});
}

std::vector<Row> run_fetch_small(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const std::uint64_t files = settings.quick ? 2000 : 10'000;
    const Scratch scratch{8 * files * file_bytes};
    const auto folder = [&](const char* name) {
        auto path = scratch.path() / name;
        fs::create_directory(path);
        return path;
    };
    const auto there = folder("there");
    make_folder(there / "small", files, file_bytes);
    const SaveServer server{settings.cores, settings.tool, there};
    const auto make_ours = [&](const char* name, const std::string& sync) {
        const auto to = folder(name);
        return make_fetch(server.fetch("small", to, {"--quiet", sync}), to / "small");
    };
    const auto ours = make_ours("batch", "--sync=batch");
    const auto each = make_ours("each", "--sync=each");

    std::vector<Row> rows;
    const auto effort = fetch_effort(settings);
    const auto contest = [](const char* name, double bar, const char* what) {
        return Contest{name, "files/s", 1, Metric::work_per_second, Bar{Sense::at_least, bar}, what};
    };
    const auto batch_row = contest("fetch.small", 3, "rsync from its daemon");
    const auto each_row = contest("fetch.small.each", 2, "rsync from its daemon");
    if (has_rsync()) {
        const RsyncDaemon daemon{settings.cores, there};
        const auto make_theirs = [&](const char* name) {
            const auto to = folder(name);
            return make_fetch({"rsync", "-a", daemon.url() + "small", to.string() + '/'}, to / "small");
        };
        const auto rsync = make_theirs("rsync");
        const auto again = make_theirs("rsync2");
        rows.push_back(row_of(batch_row, compare(*ours, *rsync, *again, batch_row.metric, effort)));
        rows.push_back(row_of(each_row, compare(*each, *rsync, *again, each_row.metric, effort)));
    } else {
        rows.push_back(row_alone(batch_row, *ours, runs_alone, no_rsync, effort));
        rows.push_back(row_alone(each_row, *each, runs_alone, no_rsync, effort));
    }
    const auto tar_row = contest("fetch.small.tar", 0.7, "tar through a socket");
    const auto tar = make_tar(there / "small", folder("tar"));
    const auto tar_again = make_tar(there / "small", folder("tar2"));
    rows.push_back(row_of(tar_row, compare(*ours, *tar, *tar_again, tar_row.metric, effort)));
    return rows;
}

}  // namespace

std::vector<Figure> fetch_small_figures() { return {{"fetch.small", run_fetch_small}}; }

}  // namespace cinnabar::bench
