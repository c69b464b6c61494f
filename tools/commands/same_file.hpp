// SPDX-License-Identifier: BSD-3-Clause
// Finds out whether the other side already has a file that is named on the command line. Files of trees are compared by
// listings instead (tree_plan.hpp).
#pragma once

#include "commands/same_attributes.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/task.hpp>

#include <string>

namespace cinnabar::tools {

struct SameBy {
    bool preserved = false;   // both files have, or get, the same mode and time
    bool by_content = false;  // compare contents in place of times; both sides read all
    bool checked = true;      // files are saved with checksums
};

// Returns whether a file that may replace another file is compared with it first, as files of trees are. False: the
// file is always transferred. Only the checksum with which the other file was saved could be compared, and that
// checksum does not tell whether the other file is still undamaged.
[[nodiscard]] constexpr bool tells_before(const SameBy& how) noexcept { return how.preserved || how.by_content; }

// Returns whether the local file that `open` opens is the same as the file `name` on the server. With `preserved`,
// files of equal size, time and mode are the same; `same` compares times and modes as precisely as the receiving side
// keeps them. Without `preserved`, times tell nothing, because the receiving side gives its file a time of its own; so
// the local file is read, and its checksum compared with the checksum with which the server's file was saved. Errors:
// those of Client::look() and of `open`. `session`, and the object that `same` refers to, must live until the task
// ends.
[[nodiscard]] hl::Task<Result<bool>> is_same_file(files::Client& session, files::OpenSource open, std::string name,
                                                  SameBy how, SameAttributes same);

}  // namespace cinnabar::tools
