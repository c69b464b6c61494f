// SPDX-License-Identifier: BSD-3-Clause
// save.tree: a copy of the headers and documents of this machine, with all their small files, folders and links, over
// tcp, from tmpfs to tmpfs: all of it, and again when nothing has changed, compared with `rsync -a` to its own daemon.
#include "../harness/command_subject.hpp"
#include "../harness/room.hpp"
#include "../harness/scratch.hpp"
#include "../ours/save_server.hpp"
#include "../peers/rsync.hpp"
#include "figures.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::size_t runs_alone = 3;

// How much more is copied.
struct Left {
    std::uint64_t files;
    std::uint64_t bytes;
};

// What cannot be read or does not fit is left out.
void copy_tree(const fs::path& from, const fs::path& to, Left& left) {
    fs::create_directories(to);
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator{from, fs::directory_options::skip_permission_denied, unreadable}) {
        if (left.files == 0) return;
        const auto target = to / entry.path().filename();
        std::error_code failed;
        const auto kind = entry.symlink_status(failed).type();
        if (kind == fs::file_type::directory) {
            copy_tree(entry.path(), target, left);
        } else if (kind == fs::file_type::symlink) {
            fs::copy_symlink(entry.path(), target, failed);
        } else if (kind == fs::file_type::regular) {
            const auto bytes = entry.file_size(failed);
            if (failed || bytes + page_bytes > left.bytes || !fs::copy_file(entry.path(), target, failed)) continue;
            --left.files;
            left.bytes -= bytes + page_bytes;
        }
    }
}

// Copies both trees, half of what there is room for from each; returns the number of files.
std::uint64_t copy_trees(const fs::path& to, const Settings& settings) {
    constexpr std::uint64_t copies = 5;  // the source, two that stay, one that comes and goes, and some room
    const auto room = room_for_files() / copies;
    for (const char* tree : {"include", "share/doc"}) {
        Left left{settings.quick ? 1000 : std::uint64_t{1} << 20,
                  std::min(settings.quick ? 32 * mebibyte : room / 2, room / 2)};
        copy_tree(fs::path{"/usr"} / tree, to / tree, left);
    }
    const auto files = count_files(to);
    if (files == 0) throw std::runtime_error{"/usr/include and /usr/share/doc have no files"};
    return files;
}

// Few rounds, because each slice is a whole save.
Effort tree_effort(const Settings& settings) {
    auto effort = settings.effort;
    effort.rounds_min = settings.quick ? 3 : 8;
    effort.seconds_max = settings.quick ? 3 : effort.seconds_max;
    return effort;
}

// One side's command, and where it puts the tree.
struct Move {
    std::vector<std::string> words;
    fs::path target;
};

// Work: files. `anew`: the target is removed after each run; otherwise the first run, which is not counted, makes it.
std::unique_ptr<Subject> make_move(const Move& move, std::uint64_t files, bool anew) {
    const auto work = [target = move.target, files, anew] {
        const auto there = count_files(target);
        if (there != files) throw std::runtime_error{"a copy of the tree has " + std::to_string(there) + " files"};
        if (anew) fs::remove_all(target);
        return static_cast<double>(files);
    };
    return make_command({move.words, {}, work});
}

std::vector<Row> run_save_tree(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const Scratch scratch{256 * mebibyte};
    const auto source = scratch.path() / "tree";
    const auto files = copy_trees(source, settings);
    const auto root = [&](const char* name) {
        auto path = scratch.path() / name;
        fs::create_directory(path);
        return path;
    };
    const auto our_root = root("ours");
    const SaveServer server{settings.cores, settings.tool, our_root};
    const Move ours{server.save(source, {"--quiet"}), our_root / "tree"};
    std::optional<RsyncDaemon> daemon;
    Move theirs;
    if (has_rsync()) {
        const auto their_root = root("rsync");
        daemon.emplace(settings.cores, their_root);
        theirs = {{"rsync", "-a", source.string(), daemon->url()}, their_root / "tree"};
    }

    std::vector<Row> rows;
    const auto effort = tree_effort(settings);
    const auto beside = [&](const char* name, double bar, bool anew) {
        const Contest contest{
            name, "files/s", 1, Metric::work_per_second, Bar{Sense::at_least, bar}, "rsync -a to its own daemon"};
        const auto subject = make_move(ours, files, anew);
        if (daemon) {
            const auto rsync = make_move(theirs, files, anew);
            rows.push_back(row_of(contest, compare(*subject, *rsync, *rsync, contest.metric, effort)));
        } else {
            rows.push_back(row_alone(contest, *subject, runs_alone, no_rsync, effort));
        }
        rows.back().remark += ", " + std::to_string(files) + " files";
    };
    beside("save.tree.first", 3, true);
    beside("save.tree.unchanged", 2, false);
    return rows;
}

}  // namespace

std::vector<Figure> save_tree_figures() { return {{"save.tree", run_save_tree}}; }

}  // namespace cinnabar::bench
