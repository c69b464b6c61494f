// SPDX-License-Identifier: BSD-3-Clause
// A key for tcps and ofis, shared by all tests of a program, in a file that is removed at its end.
#pragma once

#include "support/folder.hpp"

#include <string>

namespace cinnabar::support {

// Writes the line NAME:HEX to a new file of the folder that others cannot read.
inline std::string put_key(const Folder& folder, const std::string& file, const std::string& line) {
    const std::string path = folder.put(file, line + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
}

inline const std::string& test_key_file() {
    static const Folder folder;
    static const std::string path =
        put_key(folder, "key", "tests:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    return path;
}

}  // namespace cinnabar::support
