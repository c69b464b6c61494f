// SPDX-License-Identifier: BSD-3-Clause
// save.resume: a client that is killed when nine tenths of a large file are in the server's staging folder; how long
// the same command then takes for the rest, compared with a save of the whole file. Over tcp, from tmpfs to tmpfs.
#include "../harness/pairs.hpp"
#include "../harness/room.hpp"
#include "../harness/scratch.hpp"
#include "../ours/save_server.hpp"
#include "figures.hpp"
#include "support/command_output.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

void pause_1_ms() { (void)poll(nullptr, 0, 1); }
// A source that was changed in the last two seconds is read again, as its next change could have the same time.
void let_rest() { (void)poll(nullptr, 0, 2100); }

double seconds_of(const std::vector<std::string>& words) {
    const auto begin = seconds_now();
    run_command(words);
    return seconds_now() - begin;
}

// What interrupted and unfinished saves have written so far.
std::uint64_t staged_bytes(const fs::path& staging) {
    std::uint64_t bytes = 0;
    std::error_code gone;
    for (fs::directory_iterator at{staging, gone}, end; !gone && at != end; at.increment(gone)) {
        struct stat about {};
        if (at->path().extension() == ".part" && stat(at->path().c_str(), &about) == 0)
            bytes += static_cast<std::uint64_t>(about.st_blocks) * 512;
    }
    return bytes;
}

// A virtual machine gives back pages that have been free for a while, and then a fresh one costs more than all that is
// measured here. So each timed save finds pages that were freed just before.
void warm_pages(const fs::path& folder, std::uint64_t bytes) {
    const auto file = folder / "warm";
    make_file(file, bytes);
    fs::remove(file);
}

class Interrupted {
  public:
    Interrupted(const Settings& settings, const fs::path& source, const fs::path& root, std::uint64_t bytes)
        : tool_(settings.tool),
          server_(settings.cores, settings.tool, root),
          save_(server_.save(source, {"--quiet"})),
          source_(source),
          target_(root / source.filename()),
          staging_(root / ".cinnabar-staging"),
          bytes_(bytes) {}

    // Seconds.
    double save_whole() {
        warm_pages(source_.parent_path(), bytes_);
        const double took = seconds_of(save_);
        remove_target();
        return took;
    }
    // Seconds for the rest, after the client was killed.
    double resume() {
        int tries = 0;
        while (!kill_late() || !await_server()) {  // the client was faster than this process could look
            if (++tries == 10) throw std::runtime_error{"the client ends before it can be killed"};
            remove_target();
        }
        warm_pages(source_.parent_path(), bytes_ / 8);
        const double took = seconds_of(save_);
        run_command({"cmp", source_.string(), target_.string()});
        remove_target();
        return took;
    }

  private:
    // The client is killed when this returns; false if it has ended by itself.
    bool kill_late() {
        StartedCommand client{save_};
        while (staged_bytes(staging_) < bytes_ / 10 * 9) {
            if (!client.runs()) {
                client.wait();
                return false;
            }
            pause_1_ms();
        }
        return true;
    }
    // Waits until the server has noticed that the client is gone. It then lists what it keeps; it keeps nothing of
    // which no part has been synced. False if the file is there after all.
    [[nodiscard]] bool await_server() const {
        const auto list = shell_line({tool_, "list", "--insecure", "--staged", server_.uri()});
        const auto end = seconds_now() + 10;
        while (support::output_of(list).find(source_.filename().string()) == std::string::npos) {
            if (fs::exists(target_)) return false;
            if (staged_bytes(staging_) == 0) return true;
            if (seconds_now() > end) throw std::runtime_error{"the server does not notice that its client is gone"};
            pause_1_ms();
        }
        return true;
    }
    void remove_target() const {
        if (!fs::remove(target_)) throw std::runtime_error{"a save has left no file"};
    }

    std::string tool_;
    SaveServer server_;
    std::vector<std::string> save_;
    fs::path source_;
    fs::path target_;
    fs::path staging_;
    std::uint64_t bytes_;
};

std::vector<Row> run_save_resume(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const auto wanted = settings.quick ? gibibyte / 2 : 4 * gibibyte;
    const auto bytes = size_that_fits(wanted, gibibyte / 4, 2, room_for_files());
    const Scratch scratch{2 * bytes};
    const auto source = scratch.path() / "large";
    const auto root = scratch.path() / "root";
    fs::create_directory(root);
    make_file(source, bytes);
    let_rest();
    Interrupted save{settings, source, root, bytes};
    Pairs pairs;
    (void)save.save_whole();  // to warm up
    for (int round = settings.quick ? 2 : 5; round > 0; --round) {
        const double whole = save.save_whole();
        const double rest = save.resume();
        pairs.add(rest, whole, save.save_whole());
    }
    auto row = pairs.row("save.resume", "s", Bar{Sense::at_most, 0.15}, "the whole save");
    row.remark += ", " + size_remark(bytes, wanted);
    return {row};
}

}  // namespace

std::vector<Figure> save_resume_figures() { return {{"save.resume", run_save_resume}}; }

}  // namespace cinnabar::bench
