// SPDX-License-Identifier: BSD-3-Clause
// A local folder with everything in it, to be saved. The whole tree is scanned before the transfer begins, so that a
// tree that contains the server's root does not grow during the scan. The kernel resolves every path below the folder
// without following symbolic links: a folder that was replaced by a link gives an error instead of leading out of the
// tree. Any thread.
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

// The result of a scan. Folders come before their contents; names are paths below the tree.
struct Scan {
    std::vector<Entry> entries;
    struct Problem {
        std::string path;
        Error error;
    };
    std::vector<Problem> problems;  // what cannot be transferred, and why
    // Number of excluded entries; a folder counts once, with its contents. The unfinished files of a fetch are always
    // excluded.
    std::uint64_t filtered = 0;
};

class CINNABAR_API SourceTree {
  public:
    // Opens the top folder; if `path` is a symbolic link, it is followed. unsupported: the kernel is older than 5.6.
    // Also the errors of file_error().
    [[nodiscard]] static Result<SourceTree> open(const std::string& path);

    // Scans the tree. The filter is applied to `prefix` followed by the path; `prefix` is empty, or the name of the
    // folder with a trailing '/'. Devices, sockets, pipes, staging folders of servers, and paths over name_bytes_max
    // are reported as problems.
    [[nodiscard]] Scan scan(const Filter& filter, std::string_view prefix, const ExtendedKinds& kinds) const;
    // Opens a file of the tree. not_found: the file was removed. permission: a part of the path has become a symbolic
    // link. Also the errors of SourceFile.
    [[nodiscard]] Result<SourceFile> open_file(const std::string& path) const;
    // The attributes of the top folder.
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
