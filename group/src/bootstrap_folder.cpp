// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap_folder.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/base/whole_io.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

namespace cinnabar::group {
namespace {

constexpr std::string_view member_begins = "cinnabar member";
constexpr std::string_view roster_begins = "cinnabar roster";
constexpr std::size_t line_bytes_max = 16'384;  // an address, its encoding and the encoding of the labels
constexpr std::size_t member_bytes_max = 4 * line_bytes_max;

std::string member_path(const std::string& folder, Rank rank) { return folder + "/member-" + std::to_string(rank); }
std::string roster_path(const std::string& folder) { return folder + "/roster"; }

Error failed(std::string_view what, const std::string& path) {
    const int error = errno;
    return Error(errc_from_errno(error), what, path, error);
}

// Writes to a temporary name first, so that no reader sees half a file, even on a network file system.
Result<void> put(const std::string& path, std::string_view text) {
    const std::string before = path + "." + std::to_string(::getpid()) + ".new";
    const UniqueFd fd(::open(before.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) return failed("cannot make a file in the folder of the group", before);
    if (write_whole(fd.get(), as_bytes(text), 0) && ::fsync(fd.get()) == 0 &&
        ::rename(before.c_str(), path.c_str()) == 0)
        return {};
    const Error error = failed("cannot write into the folder of the group", path);
    (void)::unlink(before.c_str());
    return error;
}

// Empty: there is no such file.
Result<std::string> get(const std::string& path, std::size_t bytes_max) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) return std::string();
    struct stat found {};
    if (!fd || ::fstat(fd.get(), &found) != 0) return failed("cannot read a file of the group", path);
    const auto bytes = static_cast<std::uint64_t>(found.st_size);
    if (bytes > bytes_max) return Error(Errc::protocol, "a file of the group is too long", path);
    std::string text(static_cast<std::size_t>(bytes), '\0');
    const ssize_t got = read_at_most(fd.get(), std::as_writable_bytes(std::span(text)), 0);
    if (got < 0) return failed("cannot read a file of the group", path);
    text.resize(static_cast<std::size_t>(got));
    return text;
}

// Returns the next line without its end, and advances `text` past it.
std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

}  // namespace

Result<void> announce(const std::string& folder, const std::string& run, Rank rank, const std::string& line) {
    const auto last = announced(folder, run, rank);
    const std::uint64_t incarnation = last && *last ? (*last)->incarnation + 1 : 1;
    std::string text(member_begins);
    text.append("\n").append(run).append("\n").append(std::to_string(incarnation));
    text.append("\n").append(line).append("\n");
    return put(member_path(folder, rank), text);
}

Result<std::optional<Announced>> announced(const std::string& folder, const std::string& run, Rank rank) {
    const std::string path = member_path(folder, rank);
    CINNABAR_TRY(const std::string whole, get(path, member_bytes_max));
    if (whole.empty()) return std::optional<Announced>();
    std::string_view text = whole;
    const bool begins = next_line(text) == member_begins;
    const std::string_view of_run = next_line(text);
    const std::string_view number = next_line(text);
    Announced found;
    const auto incarnation = parse_number<std::uint64_t>(number);
    found.line = next_line(text);
    if (!begins || !incarnation || found.line.empty() || !text.empty())
        return Error(Errc::protocol, "this is not the file of a member", path);
    found.incarnation = *incarnation;
    if (of_run != run) return std::optional<Announced>();
    return std::optional<Announced>(std::move(found));
}

Result<void> write_roster(const std::string& folder, const std::string& run, const std::vector<std::string>& lines) {
    std::string text(roster_begins);
    text.append("\n").append(run).append("\n");
    for (const std::string& line : lines) text.append(line).append("\n");
    return put(roster_path(folder), text);
}

Result<std::vector<std::string>> find_roster(const std::string& folder, const std::string& run, Rank size) {
    const std::string path = roster_path(folder);
    CINNABAR_TRY(const std::string whole, get(path, (std::size_t{size} + 2) * line_bytes_max));
    std::vector<std::string> lines;
    std::string_view text = whole;
    if (whole.empty()) return lines;
    if (next_line(text) != roster_begins) return Error(Errc::protocol, "this is not the roster of a group", path);
    if (next_line(text) != run) return lines;
    while (!text.empty()) lines.emplace_back(next_line(text));
    if (lines.size() == size) return lines;
    return Error(Errc::protocol, "the roster of this run has another number of members", path);
}

Result<bool> collect(const std::string& folder, const std::string& run, std::vector<std::string>& lines) {
    bool missing = false;
    for (int round = 0; round < 2 && !missing; ++round) {
        for (Rank rank = 0; rank < lines.size(); ++rank) {
            if (round == 0 && !lines[rank].empty()) continue;
            CINNABAR_TRY(const auto found, announced(folder, run, rank));
            lines[rank] = found ? found->line : std::string();
            missing = missing || !found;
        }
    }
    return !missing;
}

}  // namespace cinnabar::group
