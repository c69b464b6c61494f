// SPDX-License-Identifier: BSD-3-Clause
// Errands that make the folders and links of a tree on a server, many in one call. `result`: the entry, with its name
// on the server. An errand that is repeated because its session was lost succeeds if the folder or link exists already.
#pragma once

#include "commands/transfer.hpp"

#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/new_file.hpp>

namespace cinnabar::tools {

[[nodiscard]] Errand make_folder_there(Report::File file, files::Entry result);
[[nodiscard]] Errand finish_folder_there(Report::File file, files::Entry result);
[[nodiscard]] Errand make_link_there(Report::File file, files::Entry result, files::Existing existing);
// A hard link to the file `result.target`.
[[nodiscard]] Errand make_hard_link_there(Report::File file, files::Entry result, files::Existing existing);

}  // namespace cinnabar::tools
