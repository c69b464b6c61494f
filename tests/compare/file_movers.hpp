// SPDX-License-Identifier: BSD-3-Clause
// Who moves files from one folder on tmpfs into another, through a server as a rule.
#pragma once

#include "works.hpp"

namespace cinnabar::compare {

[[nodiscard]] Work one_file();
[[nodiscard]] Work many_files();

}  // namespace cinnabar::compare
