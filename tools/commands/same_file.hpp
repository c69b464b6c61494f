// SPDX-License-Identifier: BSD-3-Clause
// Whether a file that is named on the command line is on the other side already. Files of trees are compared by
// listings (tree_plan.hpp).
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

// Whether files that replace others are compared first, as those of trees are. Otherwise a file that is replaced is
// always moved: the checksum with which it was saved does not tell whether it is still whole.
[[nodiscard]] constexpr bool tells_before(const SameBy& how) noexcept { return how.preserved || how.by_content; }

// Compares the local file that `open` opens with `name` on the server. With `preserved`, files of equal size, time and
// mode are the same. Otherwise the file on the receiving side has a time of its own, so the local file is read, and
// compared with the checksum with which the server's file was saved. Errors: those of Client::look() and of `open`.
// `session` and what `same` refers to must live until the task ends; `same` compares as the receiving side does.
[[nodiscard]] hl::Task<Result<bool>> is_same_file(files::Client& session, files::OpenSource open, std::string name,
                                                  SameBy how, SameAttributes same);

}  // namespace cinnabar::tools
