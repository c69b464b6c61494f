// SPDX-License-Identifier: BSD-3-Clause
// What a folder of a tree has: files, folders, symbolic links, and what cannot be moved.
#pragma once

#include <cinnabar/files/attributes.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::files {

enum class EntryKind : std::uint8_t {
    file,
    folder,
    link,
    other,  // devices, sockets, pipes: told, and left out
};

struct Entry {
    std::string name;  // of a listing: one component; of a tree: its path; any bytes
    EntryKind kind = EntryKind::file;
    std::uint64_t bytes = 0;  // of a file
    Attributes attributes;
    std::string target;        // of a link
    std::uint64_t inode = 0;   // of a file with several names: equal for all of them, and 0 for others
    std::uint64_t device = 0;  // the same
};

// A part of a folder.
struct Listing {
    Attributes attributes;  // of the folder
    std::vector<Entry> entries;
    std::uint64_t cursor = 0;  // where the next part begins; 0: that was all
};

inline constexpr std::size_t listing_entries_max = 256;
inline constexpr std::size_t listing_bytes_max = 64 << 10;  // of names and targets, but that one entry always fits

}  // namespace cinnabar::files
