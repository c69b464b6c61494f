// SPDX-License-Identifier: BSD-3-Clause
// Finds what --delete removes: extraneous entries, that is, entries in the command's folders on the receiving side that
// no source has. The rules are rsync's. One thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/filter.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cinnabar::tools {

// A folder that a command was given, as it is on the receiving side.
struct GivenFolder {
    std::string name;    // empty: the root
    std::string prefix;  // prepended to each path below it for the filter
};

// The entries of a command's sources, by their names on the receiving side.
struct SourceNames {
    std::vector<GivenFolder> given;  // only these are cleaned, with the folders in them that a source has, too
    std::map<std::string, files::Attributes, std::less<>> folders;
    std::set<std::string, std::less<>> others;

    [[nodiscard]] bool has(const std::string& name) const { return folders.contains(name) || others.contains(name); }
    // Adds the sources of another server, whose entries come into the same folders.
    void merge(SourceNames more);
};

struct Extraneous {
    std::string name;   // on the receiving side
    std::string given;  // the folder of the command that it is in: below it no symbolic link is followed
    files::EntryKind kind = files::EntryKind::file;
};

// The steps of a deletion, in this order.
struct Deletion {
    // Folders to be opened to their owner, who may not write to them; outer ones first.
    std::vector<std::string> closed;
    // The contents of a folder come before the folder, and deeper entries before those that are less deep.
    std::vector<Extraneous> entries;
    // Folders that stay, and the mode and time that each gets when the deletion is done: those of the source's folder,
    // if the source has the folder; otherwise those that the closed folder had before. Inner folders come first.
    struct Changed {
        std::string name;
        files::Attributes attributes;
    };
    std::vector<Changed> changed;
    std::uint64_t left = 0;  // number of entries that a limit keeps
};

// Lists a folder of the receiving side. `given`: as in Extraneous. Both strings stay valid until the task ends.
using ListBelow = std::function<hl::Task<Result<files::Listing>>(const std::string& name, const std::string& given)>;
using CannotList = std::function<void(const std::string& name, const Error& error)>;

// Finds the extraneous entries in the given folders, and which of these are to be removed: at most `limit`. Keeps
// entries that the filter excludes, unfinished files of fetches and of servers, and any folder that contains an entry
// that stays. Treats a symbolic link as a file, and never follows it. A folder that does not exist has no entries. If a
// folder cannot be listed, calls `failed`, and nothing is to be removed. Errors: those of `list` that end the session.
// too_large: the folders have over ten million entries. The arguments must live until the task ends.
[[nodiscard]] hl::Task<Result<Deletion>> find_extraneous(const SourceNames& names, const files::Filter& filter,
                                                         std::optional<std::uint64_t> limit, const ListBelow& list,
                                                         const CannotList& failed);

}  // namespace cinnabar::tools
