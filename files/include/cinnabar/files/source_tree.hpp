// SPDX-License-Identifier: BSD-3-Clause
// A folder of this host with all that is in it, as it is to be saved. It is walked to its end before anything is moved,
// so that a tree that has the server's root in it does not grow under the walk. Every path is resolved by the kernel
// below the folder and over no link: a folder that becomes a link meanwhile is an error of its own, not a way out.
// Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/filter.hpp>
#include <cinnabar/files/source_file.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

// What was found, folders before what is in them; names are paths below the tree.
struct Scan {
    std::vector<Entry> entries;
    struct Problem {
        std::string path;
        Error error;
    };
    std::vector<Problem> problems;  // what cannot be moved, and why
    std::uint64_t filtered = 0;     // what the filter leaves out; a folder counts once, with all in it
};

class CINNABAR_API SourceTree {
  public:
    // A link as `path` is followed. Those of file_error; unsupported: a kernel before 5.6.
    [[nodiscard]] static Result<SourceTree> open(const std::string& path);

    // `prefix` is what the filter sees before each path: empty, or the folder's own name with a '/' behind it. Devices,
    // sockets and pipes are problems, and so are the unfinished files of a server, and paths over name_bytes_max.
    [[nodiscard]] Scan scan(const Filter& filter, std::string_view prefix, const ExtendedKinds& kinds) const;
    // Errors of SourceFile; not_found: it has vanished. permission: a part of the path has become a link.
    [[nodiscard]] Result<SourceFile> open_file(const std::string& path) const;
    // The folder's own.
    [[nodiscard]] Result<Attributes> attributes(const ExtendedKinds& kinds) const;

  private:
    SourceTree() = default;
    [[nodiscard]] Result<UniqueFd> open_folder(const std::string& path) const;
    void scan_folder(const std::string& path, const Filter& filter, std::string_view prefix, const ExtendedKinds& kinds,
                     Scan& scan) const;

    std::shared_ptr<const UniqueFd> folder_;
    std::string path_;
};

}  // namespace cinnabar::files
