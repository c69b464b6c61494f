// SPDX-License-Identifier: BSD-3-Clause
// Programs that move files from one folder on tmpfs to another, most of them through a server.
#pragma once

#include "works.hpp"

namespace cinnabar::compare {

[[nodiscard]] Work one_file();
[[nodiscard]] Work many_files();

}  // namespace cinnabar::compare
