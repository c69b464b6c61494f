// SPDX-License-Identifier: BSD-3-Clause
// Folders and links, many of which a server makes in one call (Client::make_many()).
#pragma once

#include <cinnabar/files/attributes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cinnabar::files {

enum class MakeKind : std::uint8_t {
    folder,         // only its owner may access it until finish_folder
    finish_folder,  // sets its attributes
    link,           // to `target`
    hard_link,      // another name of the file `target`
};

struct NewEntry {
    MakeKind kind = MakeKind::folder;
    std::string name;
    std::string target;
    Attributes attributes;
    bool replace = false;  // for links: as Existing::replace
};

// The maximum number of entries that one call makes or removes, and the maximum total size of their names, targets and
// extended attributes.
inline constexpr std::size_t batch_entries_max = 64;
inline constexpr std::size_t batch_text_bytes_max = 64u << 10;

}  // namespace cinnabar::files
