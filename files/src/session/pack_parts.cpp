// SPDX-License-Identifier: BSD-3-Clause
#include "session/pack_parts.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Fewer files per part are not worth another thread.
constexpr std::size_t part_files_min = 8;

hl::Task<void> run_part(Disk& disk, const PackWork& work, std::size_t begin, std::size_t end) {
    (void)co_await disk.run([&work, begin, end] {
        work(begin, end);
        return true;
    });
}

}  // namespace

hl::Task<void> run_in_parts(Disk& disk, std::size_t files, const PackWork& work) {
    const auto count = std::clamp<std::size_t>(files / part_files_min, 1, std::max(disk.threads(), 1u));
    std::vector<hl::Task<void>> parts;
    for (std::size_t i = 0; i < count; ++i)
        parts.push_back(run_part(disk, work, files * i / count, files * (i + 1) / count));
    (void)co_await hl::when_all(std::move(parts));
}

}  // namespace cinnabar::files
