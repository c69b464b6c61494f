// SPDX-License-Identifier: BSD-3-Clause
// Locks, lists and removes remains, and opens the staged file from which a save resumes, or a new one.
#include "file/staging.hpp"

#include "file/dated.hpp"
#include "file/own_file.hpp"
#include "file/read_entries.hpp"
#include "file/rename_staged.hpp"

#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/new_file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <set>
#include <utility>

namespace cinnabar::files {
namespace {

constexpr std::string_view part_end = ".part";
constexpr std::string_view journal_end = ".journal";
constexpr std::uint64_t stat_block_bytes = 512;

std::string journal_of(std::string_view part) {
    return std::string(part.substr(0, part.size() - part_end.size())).append(journal_end);
}

bool is_journal_name(std::string_view leaf) { return leaf.starts_with(".cinnabar-") && leaf.ends_with(journal_end); }

bool lock(int fd, int how) {
    int locked = -1;
    do {
        locked = ::flock(fd, how);
    } while (locked != 0 && errno == EINTR);
    return locked == 0;
}

// Whether the name still refers to the open file. The previous holder of the lock may have renamed or removed it.
bool is_still_there(int staging, const std::string& name, int fd) {
    struct stat opened {};
    struct stat found {};
    return ::fstat(fd, &opened) == 0 && ::fstatat(staging, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
}

// Locks a staged file that nobody is working on. Empty: somebody is, or it was removed.
UniqueFd lock_remains(int staging, const std::string& part) {
    UniqueFd fd(::openat(staging, part.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd || !lock(fd.get(), LOCK_EX | LOCK_NB) || !is_still_there(staging, part, fd.get())) fd.reset();
    return fd;
}

// Removes a staged file and its journal, even if it cannot be opened, like a link. Requires: nobody works on the file.
bool sweep_pair(int staging, const std::string& part) {
    (void)::unlinkat(staging, journal_of(part).c_str(), 0);
    return ::unlinkat(staging, part.c_str(), 0) == 0;
}

bool remove_pair(int staging, const std::string& part) {
    const auto locked = lock_remains(staging, part);
    return locked && sweep_pair(staging, part);
}

Result<std::optional<Part>> begin_part(const std::shared_ptr<const UniqueFd>& staging, const StagedNames& names,
                                       JournalHead head) {
    const auto mode = static_cast<mode_t>(head.mode & 0777u);
    auto file = std::make_shared<UniqueFd>(
        ::openat(staging->get(), names.part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    struct stat status {};
    if (!*file && errno == EEXIST) return std::optional<Part>();
    if (!*file) return file_error(errno, "cannot make a file", head.name);
    if (!lock(file->get(), LOCK_EX | LOCK_NB) || ::fstat(file->get(), &status) != 0) return std::optional<Part>();
    if (status.st_nlink == 0) return std::optional<Part>();  // remove_leftovers() of another process was faster
    // A file that was renamed into place or removed may have left its journal.
    (void)::unlinkat(staging->get(), names.journal.c_str(), 0);
    head.final_mode = status.st_mode & 0777u;
    if ((head.final_mode & 0600u) != 0600u) (void)::fchmod(file->get(), head.final_mode | 0600u);
    auto journal = Journal::begin(staging, names.journal, file, head);
    if (!journal) (void)::unlinkat(staging->get(), names.part.c_str(), 0);
    if (!journal) return std::move(journal).error();
    return std::optional<Part>(Part{std::move(file), *std::move(journal), 0, names.part});
}

// Cuts the file and its journal to the blocks that both have. Returns the size that remains.
Result<std::uint64_t> keep_promised(int fd, Journal& journal) {
    const auto& head = journal.head();
    struct stat status {};
    if (::fstat(fd, &status) != 0) return file_error(errno, "cannot look at the staged file", head.name);
    const auto there = static_cast<std::uint64_t>(status.st_size) / head.block_bytes;
    const bool whole = static_cast<std::uint64_t>(status.st_size) == head.bytes;
    if (!whole && there < journal.blocks()) CINNABAR_TRY_VOID(journal.cut(there));
    const auto kept = std::min(journal.blocks() * head.block_bytes, head.bytes);
    if (::ftruncate(fd, static_cast<off_t>(kept)) != 0)
        return file_error(errno, "cannot cut the staged file", head.name);
    return kept;
}

// nullopt: the staged file exists but must not be used. Empty descriptor: the staged file does not exist. Waits for a
// locked staged file only with `alone`, and only if its journal has the file name that `head` has.
std::optional<UniqueFd> open_own_part(int staging, const StagedNames& names, const JournalHead& head, bool alone) {
    UniqueFd fd(::openat(staging, names.part.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == ENOENT) return fd;
    struct stat status {};
    if (!fd || !is_own_file(fd.get(), status)) return std::nullopt;
    if (lock(fd.get(), LOCK_EX | LOCK_NB)) return fd;
    const auto journal = Journal::read(staging, names.journal);
    if (!alone || !journal || journal->head.name != head.name || !lock(fd.get(), LOCK_EX)) return std::nullopt;
    return fd;
}

struct Found {
    std::string part;
    std::uint64_t disk_bytes = 0;
    std::time_t since = 0;
};

// Lists staged files, oldest first: those with a journal; with `sweep`, all. With `sweep`, also removes journals
// without a staged file. `sweep` requires that nobody is working on any file.
std::vector<Found> find_parts(const UniqueFd& staging, bool sweep) {
    std::vector<Found> result;
    std::set<std::string, std::less<>> journals;
    (void)read_names(staging, 0, {}, [&](std::string_view leaf, std::uint64_t) {
        if (is_journal_name(leaf)) journals.emplace(leaf);
        struct stat status {};
        const std::string name(leaf);
        if (sweep && is_staged_name(leaf)) {  // a killed server has not released reserved space
            const UniqueFd fd(::openat(staging.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
            if (fd) release_reserved(fd.get());
        }
        if (is_staged_name(leaf) && ::fstatat(staging.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            result.push_back(
                {name, static_cast<std::uint64_t>(status.st_blocks) * stat_block_bytes, status.st_mtim.tv_sec});
        return true;
    });
    const auto has_journal = [&](const Found& found) { return journals.erase(journal_of(found.part)) > 0; };
    if (sweep) {
        std::ranges::for_each(result, has_journal);
        for (const auto& journal : journals) (void)::unlinkat(staging.get(), journal.c_str(), 0);
    } else {
        std::erase_if(result, [&](const Found& found) { return !has_journal(found); });
    }
    std::ranges::sort(result, {}, &Found::since);
    return result;
}

bool can_be_gone_on_with(int staging, const std::string& part) {
    const auto summary = Journal::read(staging, journal_of(part));
    return summary && summary->blocks > 0 && staged_names_of(summary->head.name).part == part;
}

// An empty staged file cannot be resumed, whatever its journal says: it is left by a process that was killed in
// remove_left_journal().
bool remove_left_part(int folder, const std::string& part) {
    const auto locked = lock_remains(folder, part);
    struct stat status {};
    return locked && is_own_file(locked.get(), status) && (status.st_size == 0 || !can_be_gone_on_with(folder, part)) &&
           sweep_pair(folder, part);
}

// A staged link cannot be locked, so this function may also remove a link that a fetch in progress is about to rename;
// the fetch then makes another link (Root::stage). A hard link to a file that somebody works on is not removed.
bool remove_left_link(int folder, const std::string& part) {
    struct stat status {};
    if (::fstatat(folder, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_uid != ::geteuid())
        return false;
    if (S_ISLNK(status.st_mode)) return ::unlinkat(folder, part.c_str(), 0) == 0;
    if (!S_ISREG(status.st_mode) || status.st_nlink < 2) return false;
    const auto locked = lock_remains(folder, part);
    return locked && !can_be_gone_on_with(folder, part) && ::unlinkat(folder, part.c_str(), 0) == 0;
}

// Removes the journal if its staged file is gone. A journal is made only after its staged file, so such a journal does
// not belong to a fetch that has just begun. While it removes the journal, this function occupies the name of the
// staged file, so that no fetch begins a journal of this name: a fetch that finds the name occupied stages its file
// under another name.
bool remove_left_journal(int folder, const std::string& journal) {
    const auto part = journal.substr(0, journal.size() - journal_end.size()).append(part_end);
    struct stat status {};
    if (::fstatat(folder, part.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) return false;
    const UniqueFd file(::openat(folder, journal.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file || !is_own_file(file.get(), status)) return false;
    const UniqueFd held(::openat(folder, part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return held && hold_staged(folder, part, held.get()) && sweep_pair(folder, part);
}

}  // namespace

StagedNames staged_names_of(std::string_view name) {
    std::array<char, 48> stem{};
    (void)std::snprintf(stem.data(), stem.size(), ".cinnabar-%016llx",
                        static_cast<unsigned long long>(block_checksum(as_bytes(name))));
    return {std::string(stem.data()).append(part_end), std::string(stem.data()).append(journal_end)};
}

Result<std::optional<Part>> open_part(const std::shared_ptr<const UniqueFd>& staging, const JournalHead& head,
                                      bool alone) {
    const auto names = staged_names_of(head.name);
    for (int attempt = 0; attempt < staged_attempts_max; ++attempt) {
        auto opened = open_own_part(staging->get(), names, head, alone);
        if (!opened) return std::optional<Part>();
        if (!*opened) {
            auto begun = begin_part(staging, names, head);
            if (!begun || *begun) return begun;
            continue;
        }
        if (!is_still_there(staging->get(), names.part, opened->get())) continue;
        auto file = std::make_shared<const UniqueFd>(*std::move(opened));
        struct stat found {};
        if (::fstat(file->get(), &found) != 0) return file_error(errno, "cannot look at the staged file", head.name);
        auto journal = Journal::resume(staging, names.journal, file, head);
        const auto kept = journal ? keep_promised(file->get(), *journal) : Result<std::uint64_t>(Errc::not_found);
        if (kept)
            return std::optional<Part>(Part{std::move(file), std::move(journal), *kept, names.part, stamp_of(found)});
        (void)::unlinkat(staging->get(), names.journal.c_str(), 0);
        (void)::unlinkat(staging->get(), names.part.c_str(), 0);
    }
    return std::optional<Part>();
}

void release_reserved(int fd) noexcept {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const auto blocks = static_cast<std::uint64_t>(status.st_blocks) * stat_block_bytes;
    if (blocks < static_cast<std::uint64_t>(status.st_size) + NewFile::reserved_bytes_min / 2) return;
    const timespec times[2] = {status.st_atim, status.st_mtim};
    if (::ftruncate(fd, status.st_size) == 0) (void)::futimens(fd, times);
}

std::vector<Remains> list_remains(int staging) {
    std::vector<Remains> result;
    const UniqueFd folder(::openat(staging, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return result;
    const auto now = std::time(nullptr);
    for (const auto& found : find_parts(folder, false)) {
        const auto summary = Journal::read(staging, journal_of(found.part));
        if (!summary || !lock_remains(staging, found.part)) continue;
        const auto& head = summary->head;
        const auto kept = std::min(summary->blocks * head.block_bytes, head.bytes);
        const auto age = static_cast<std::uint64_t>(std::max<std::time_t>(now - found.since, 0));
        result.push_back({head.name, head.bytes, kept, found.disk_bytes, age});
    }
    return result;
}

std::uint32_t trim_remains(const UniqueFd& staging, const RemainsLimits& limits, bool sweep) {
    std::uint32_t removed = 0;
    std::uint64_t bytes = 0;
    std::vector<Found> kept;
    const auto now = std::time(nullptr);
    for (auto& found : find_parts(staging, sweep)) {
        const bool late = now - found.since > limits.age.count();
        const bool goes = late || (sweep && !can_be_gone_on_with(staging.get(), found.part));
        const auto remove = sweep ? sweep_pair : remove_pair;
        if (goes && remove(staging.get(), found.part)) {
            ++removed;
        } else if (lock_remains(staging.get(), found.part)) {
            bytes += found.disk_bytes;
            kept.push_back(std::move(found));
        }
    }
    for (std::size_t i = 0; i < kept.size() && (bytes > limits.bytes || kept.size() - i > remains_max); ++i) {
        if (!remove_pair(staging.get(), kept[i].part)) continue;
        ++removed;
        bytes -= kept[i].disk_bytes;
    }
    return removed;
}

bool hold_staged(int folder, const std::string& name, int fd) {
    return (lock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) && is_still_there(folder, name, fd);
}

std::uint32_t remove_leftovers(const UniqueFd& folder) {
    std::set<std::string> names;  // sorted, so that a journal comes before its staged file
    (void)read_names(folder, 0, {}, [&](std::string_view leaf, std::uint64_t) {
        if (is_unfinished_name(leaf)) names.emplace(leaf);
        return true;
    });
    std::uint32_t removed = 0;
    for (const auto& name : names) {
        const bool gone = is_journal_name(name)
                              ? remove_left_journal(folder.get(), name)
                              : remove_left_part(folder.get(), name) || remove_left_link(folder.get(), name);
        if (gone) ++removed;
    }
    return removed;
}

bool remove_oldest_remains(int staging) {
    const UniqueFd folder(::openat(staging, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return false;
    const auto found = find_parts(folder, false);
    return std::ranges::any_of(found, [&](const Found& one) { return remove_pair(staging, one.part); });
}

std::uint32_t remove_remains(int staging, std::string_view name) {
    if (!name.empty()) {
        const auto part = staged_names_of(name).part;
        const auto summary = Journal::read(staging, journal_of(part));
        return summary && summary->head.name == name && remove_pair(staging, part) ? 1 : 0;
    }
    const UniqueFd folder(::openat(staging, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::uint32_t removed = 0;
    if (!folder) return removed;
    for (const auto& found : find_parts(folder, false)) removed += remove_pair(staging, found.part) ? 1 : 0;
    return removed;
}

}  // namespace cinnabar::files
