// SPDX-License-Identifier: BSD-3-Clause
#include "commands/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace cinnabar::tools {
namespace {

constexpr std::uint64_t per_file = 3;  // the staged file, its folder, and the file that it replaces
constexpr std::uint64_t per_client = 2;
constexpr std::uint64_t own_descriptors = 32;  // loop, listeners, root, staging folder, standard streams
constexpr std::uint64_t connections_min = 8;

}  // namespace

Descriptors divide_descriptors(std::uint64_t limit, const Descriptors& wanted, unsigned writers) noexcept {
    const std::uint64_t own = std::min(own_descriptors + per_file * writers, limit / 4);
    const std::uint64_t files = std::clamp<std::uint64_t>(limit / 4 / per_file, 1, wanted.files);
    const std::uint64_t left = limit - std::min(limit, own + per_file * files);
    Descriptors got;
    got.files = static_cast<std::uint32_t>(files);
    got.session_files =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(files / 2, 1, std::max(wanted.session_files, 1u)));
    got.connections =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(left / per_client, connections_min, wanted.connections));
    return got;
}

std::uint64_t raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    if (limit.rlim_cur != limit.rlim_max) {
        const rlimit all{limit.rlim_max, limit.rlim_max};
        if (::setrlimit(RLIMIT_NOFILE, &all) == 0) limit = all;
    }
    return limit.rlim_cur;
}

}  // namespace cinnabar::tools
