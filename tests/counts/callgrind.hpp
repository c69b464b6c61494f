// SPDX-License-Identifier: BSD-3-Clause
// Runs a program under callgrind. The counts are the same in each run, however busy the machine is.
#pragma once

#include <functional>
#include <string>

namespace cinnabar::counts {

[[nodiscard]] bool has_valgrind();
inline constexpr const char* get_valgrind = "nothing can be counted: apt-get install valgrind";

// The instructions of the whole run; 0 if it failed.
[[nodiscard]] unsigned long instructions(const std::string& command);

// How many of these are atomic and hold the bus or the cache line: instructions with a lock prefix, and exchanges with
// memory.
[[nodiscard]] unsigned long locked_instructions(const std::string& command);

// How often the program locked a mutex or a read-write lock of the C library, in all.
[[nodiscard]] unsigned long mutex_locks(const std::string& command);

// Data reads and writes that miss a first-level cache of 32 KiB with 8 ways, which the tool simulates.
[[nodiscard]] unsigned long cache_misses(const std::string& command);

// Calls `see(file, line, instructions)` with the cost of each source line of the program, inlined or not. `file` is the
// name known to the compiler. False if the run failed.
using SeeLine = std::function<void(const std::string& file, unsigned line, unsigned long instructions)>;
[[nodiscard]] bool instructions_by_line(const std::string& command, const SeeLine& see);

}  // namespace cinnabar::counts
