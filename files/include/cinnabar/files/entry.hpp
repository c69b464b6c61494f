// SPDX-License-Identifier: BSD-3-Clause
// Entries of a folder: files, folders, symbolic links, and others, which cannot be transferred.
#pragma once

#include <cinnabar/files/attributes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::files {

enum class EntryKind : std::uint8_t {
    file,
    folder,
    link,
    other,  // devices, sockets, pipes: reported but not transferred
};

struct Entry {
    std::string name;  // any bytes; in a listing one component, in a tree the path below the tree
    EntryKind kind = EntryKind::file;
    std::uint64_t bytes = 0;  // of a file
    Attributes attributes;
    std::string target;        // of a link
    std::uint64_t inode = 0;   // of a file with several hard links: the same for all of them; 0 for other files
    std::uint64_t device = 0;  // of the inode; 0 if `inode` is 0
};

// One page of a folder's entries.
struct Listing {
    Attributes attributes;  // of the folder
    std::vector<Entry> entries;
    std::uint64_t cursor = 0;  // where the next page begins; 0: this is the last page
};

// How much a server may still list, in total for all listings that share this budget. Each page is counted when it
// arrives, so listings in progress count as well. One thread.
struct ListingBudget {
    std::uint64_t entries = 10'000'000;
    std::uint64_t bytes = 1u << 30;  // of names, targets and extended attributes
    bool exceeded = false;           // a listing had more, and was refused

    // False: there is not that much left.
    [[nodiscard]] bool take(std::uint64_t more_entries, std::uint64_t more_bytes) noexcept {
        exceeded = exceeded || more_entries > entries || more_bytes > bytes;
        if (exceeded) return false;
        entries -= more_entries;
        bytes -= more_bytes;
        return true;
    }
};

inline constexpr std::size_t listing_entries_max = 256;
inline constexpr std::size_t listing_bytes_max = 64 << 10;  // of names and targets; a page always has room for at least
                                                            // one entry

}  // namespace cinnabar::files
