// SPDX-License-Identifier: BSD-3-Clause
// The errands that make what a tree has on a server beside files. `result` is what there will be, with its name there.
#pragma once

#include "commands/transfer.hpp"

#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/new_file.hpp>

namespace cinnabar::tools {

[[nodiscard]] Errand make_folder_there(Report::File file, files::Entry result);
[[nodiscard]] Errand finish_folder_there(Report::File file, files::Entry result);
[[nodiscard]] Errand make_link_there(Report::File file, files::Entry result, files::Existing existing);
// A further name of the file `result.target`.
[[nodiscard]] Errand make_hard_link_there(Report::File file, files::Entry result, files::Existing existing);

}  // namespace cinnabar::tools
