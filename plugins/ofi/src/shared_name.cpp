// SPDX-License-Identifier: BSD-3-Clause
#include "shared_name.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace cinnabar::ofi {

Errc may_map(ConstBytes address) noexcept {
    // "fi_shm://PROCESS:USER:NUMBER" and one zero byte (smr_endpoint_name). libfabric ignores bytes after the zero
    // byte, so an address that has any is refused.
    constexpr std::string_view prefix = "fi_shm://";
    constexpr std::string_view folder = "/dev/shm/";  // SMR_DIR
    constexpr std::size_t name_max = 64;
    const std::string_view text = as_text(address);
    if (!text.starts_with(prefix) || text.back() != '\0') return Errc::protocol;
    const std::string_view name = text.substr(prefix.size(), text.size() - prefix.size() - 1);
    if (name.empty() || name.size() > name_max) return Errc::protocol;
    // Only names of endpoints: other shared memory of this user has other names.
    if (name.find_first_not_of("0123456789:") != std::string_view::npos) return Errc::protocol;
    std::array<char, folder.size() + name_max + 1> path{};
    std::copy(name.begin(), name.end(), std::copy(folder.begin(), folder.end(), path.begin()));
    struct stat memory {};
    if (::lstat(path.data(), &memory) != 0) return Errc::unreachable;
    const bool own = S_ISREG(memory.st_mode) && memory.st_uid == ::geteuid() && (memory.st_mode & 077) == 0;
    return own ? Errc::ok : Errc::permission;
}

}  // namespace cinnabar::ofi
