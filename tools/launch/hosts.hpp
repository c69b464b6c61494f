// SPDX-License-Identifier: BSD-3-Clause
// The hosts on which processes are started, and the ssh command that starts a process on a host. Pure, except for
// reading the file.
#pragma once

#include <cinnabar/base/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools::launch {

// Reads a host file and returns the host of each rank. Each host is used as often as it has slots, in file order, and
// the file is used again from the top if there are more ranks than slots. A line is HOST [slots=N], N from 1 to 65,536;
// empty lines and lines that begin with # are skipped. io; invalid_argument: a malformed line, or no host at all.
[[nodiscard]] Result<std::vector<std::string>> read_hosts(const std::string& path, std::uint32_t size);

// Quotes a word for the shell.
[[nodiscard]] std::string shell_word(std::string_view word);

// Returns the command that starts the program on that host, with these variables ("NAME=value"), in that folder if it
// exists. The command reads the names of signals ("TERM") from its standard input, one per line, and sends each signal
// to the program; at the end of the input, the command sends TERM. The program itself has no input. The command exits
// with the program's exit code.
[[nodiscard]] std::vector<std::string> remote_command(const std::string& host, const std::string& folder,
                                                      const std::vector<std::string>& variables,
                                                      const std::vector<std::string>& program);

}  // namespace cinnabar::tools::launch
