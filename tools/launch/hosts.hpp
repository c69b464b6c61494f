// SPDX-License-Identifier: BSD-3-Clause
// The hosts that processes are started on, and how one is started there by ssh. Pure, but for reading the file.
#pragma once

#include <cinnabar/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::launch {

// The host of each rank: of each host as many as it has slots, in the order of the file, and then from the first one
// again. A line is HOST [slots=N], N from 1 to 65,536; empty ones and those that begin with # do not count. io;
// invalid_argument: a line that is none, or no host at all.
[[nodiscard]] Result<std::vector<std::string>> read_hosts(const std::string& path, std::uint32_t size);

// A word that the shell reads as it is.
[[nodiscard]] std::string shell_word(std::string_view word);

// The command that starts the program on that host, with these variables ("NAME=value"), in that folder if it is there.
// Its standard input takes signals, the name of one on each line ("TERM"); at its end the program is sent TERM. It ends
// with the exit code of the program. The program has no input.
[[nodiscard]] std::vector<std::string> remote_command(const std::string& host, const std::string& folder,
                                                      const std::vector<std::string>& variables,
                                                      const std::vector<std::string>& program);

}  // namespace cinnabar::tools::launch
