// SPDX-License-Identifier: BSD-3-Clause
// save.change: a large file of which the server has an older version, over tcp, from tmpfs to tmpfs. One page in a
// hundred differs, so 4 in 100 of the blocks that are compared. Compared with `rsync` to its own daemon.
#include "../harness/command_subject.hpp"
#include "../harness/room.hpp"
#include "../harness/scratch.hpp"
#include "../ours/save_server.hpp"
#include "../peers/rsync.hpp"
#include "figures.hpp"
#include "support/command_output.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::size_t page_bytes = 4096;
constexpr std::uint64_t one_in = 100;
constexpr std::size_t runs_alone = 3;

// A file of which other pages change each time.
class ChangingFile {
  public:
    ChangingFile(fs::path path, std::uint64_t bytes) : path_(std::move(path)), pages_(bytes / page_bytes) {
        make_file(path_, bytes);
    }

    void change() {
        const UniqueFd file{open(path_.c_str(), O_WRONLY | O_CLOEXEC)};
        std::array<std::uint64_t, page_bytes / sizeof(std::uint64_t)> page{};
        for (std::uint64_t first = 0; first + one_in <= pages_; first += one_in) {
            for (auto& word : page) word = random_.next();
            const auto at = static_cast<off_t>((first + random_.below(one_in)) * page_bytes);
            if (pwrite(file.get(), page.data(), page_bytes, at) != static_cast<ssize_t>(page_bytes))
                throw std::runtime_error{"cannot change " + path_.string()};
        }
    }
    [[nodiscard]] const fs::path& path() const noexcept { return path_; }

  private:
    fs::path path_;
    std::uint64_t pages_;
    Random random_{1};
};

// A file of one side, and the command that brings what has changed in it to the target. Work: bytes of the file.
std::unique_ptr<Subject> make_update(ChangingFile& file, std::vector<std::string> words, const fs::path& target,
                                     std::uint64_t bytes) {
    const auto work = [target, bytes] {
        if (fs::file_size(target) != bytes) throw std::runtime_error{"the target has another size"};
        return static_cast<double>(bytes);
    };
    return make_command({std::move(words), [&file] { file.change(); }, work});
}

// From the summary of a save with --json.
double sent_bytes_of(const std::vector<std::string>& save) {
    const auto output = support::output_of(shell_line(save));
    const std::string key = "\"sent_bytes\": ";
    const auto summary = output.find("\"summary\"");
    const auto at = summary == std::string::npos ? summary : output.find(key, summary);
    if (at == std::string::npos) throw std::runtime_error{"cinnabar save does not say what it has sent: " + output};
    return std::strtod(output.c_str() + at + key.size(), nullptr);
}

Effort change_effort(const Settings& settings) {
    auto effort = settings.effort;
    effort.rounds_min = settings.quick ? 2 : 4;
    effort.seconds_max = settings.quick ? 3 : effort.seconds_max;
    return effort;
}

std::vector<Row> run_save_change(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const bool beside_rsync = has_rsync();
    const std::uint64_t copies = beside_rsync ? 5 : 3;  // a source and a target of each side, and one that is staged
    const auto wanted = settings.quick ? gibibyte / 8 : 4 * gibibyte;
    const auto bytes = size_that_fits(wanted, gibibyte / 16, copies, room_for_files());
    const Scratch scratch{copies * bytes};
    const auto folder = [&](const char* name) {
        auto path = scratch.path() / name;
        fs::create_directory(path);
        return path;
    };
    const auto our_root = folder("ours");
    const SaveServer server{settings.cores, settings.tool, our_root};
    ChangingFile our_file{scratch.path() / "file", bytes};
    run_command(server.save(our_file.path(), {"--quiet"}));
    our_file.change();
    const auto sent = sent_bytes_of(server.save(our_file.path(), {"--replace", "--json"}));

    auto share = count_row("save.change.bytes", sent / static_cast<double>(bytes), "of the bytes", 0.05);
    share.remark = size_remark(bytes, wanted) + ", one page in 100 has changed";
    const Contest contest{
        "save.change", "MB/s", 1e-6, Metric::work_per_second, Bar{Sense::at_least, 3}, "rsync to its own daemon"};
    const auto effort = change_effort(settings);
    const auto ours =
        make_update(our_file, server.save(our_file.path(), {"--quiet", "--replace"}), our_root / "file", bytes);
    Row speed;
    if (beside_rsync) {
        const auto their_root = folder("rsync");
        ChangingFile their_file{folder("theirs") / "file", bytes};
        const RsyncDaemon daemon{settings.cores, their_root};
        const auto rsync =
            make_update(their_file, {"rsync", "-a", "--ignore-times", their_file.path().string(), daemon.url()},
                        their_root / "file", bytes);
        speed = row_of(contest, compare(*ours, *rsync, *rsync, contest.metric, effort));
    } else {
        speed = row_alone(contest, *ours, runs_alone, no_rsync, effort);
    }
    speed.remark += ", " + size_remark(bytes, wanted);
    return {share, speed};
}

}  // namespace

std::vector<Figure> save_change_figures() { return {{"save.change", run_save_change}}; }

}  // namespace cinnabar::bench
