// SPDX-License-Identifier: BSD-3-Clause
// Identifies a state of a file on this host. If two stamps are equal, they are of the same file, and the file was not
// changed between them, provided that the file system dates each change (SourceFile::tells_changes()).
#pragma once

#include <cstdint>

namespace cinnabar::files {

struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t modified_s = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_s = 0;  // ctime, which programs cannot set
    std::int64_t changed_ns = 0;
    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

}  // namespace cinnabar::files
