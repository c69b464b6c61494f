// SPDX-License-Identifier: BSD-3-Clause
// Runs a program under callgrind. Counts are the same for the same program, however busy the machine is.
#pragma once

#include <functional>
#include <string>

namespace cinnabar::counts {

[[nodiscard]] bool has_valgrind();
inline constexpr const char* get_valgrind = "nothing can be counted: apt-get install valgrind";

// Of the whole run; 0 when it failed.
[[nodiscard]] unsigned long instructions(const std::string& command);

// Of these, the atomic ones that hold the bus or the cache line: those with a lock prefix, and exchanges with memory.
[[nodiscard]] unsigned long locked_instructions(const std::string& command);

// Reads and writes of data that are not in a first-level cache of 32 KiB with 8 ways, which the tool imagines.
[[nodiscard]] unsigned long cache_misses(const std::string& command);

// Calls `see(file, line, instructions)` for what each source line of the program cost, inlined or not. The line's file
// is as the compiler knew it. False when the run failed.
using SeeLine = std::function<void(const std::string& file, unsigned line, unsigned long instructions)>;
[[nodiscard]] bool instructions_by_line(const std::string& command, const SeeLine& see);

}  // namespace cinnabar::counts
