// SPDX-License-Identifier: BSD-3-Clause
#include "security/shared_key.hpp"

#include "security/names.hpp"
#include "security/new_file.hpp"

#include <cinnabar/base/random.hpp>

#include <array>
#include <cstdio>
#include <cstring>

namespace cinnabar::tools::security {

Result<void> make_shared_key(const std::string& path, const std::string& name) {
    CINNABAR_TRY_VOID(check_name(name));
    std::array<char, 66> hex{};  // 32 bytes, and a newline
    for (std::size_t at = 0; at < 64; at += 16)
        (void)std::snprintf(hex.data() + at, 17, "%016llx", static_cast<unsigned long long>(secret_u64()));
    hex[64] = '\n';
    std::string line;
    line.reserve(name.size() + hex.size());  // a reallocation would leave a copy of the key
    line.append(name).append(":").append(hex.data());
    auto written = write_new_file(path, line, 0600);
    ::explicit_bzero(line.data(), line.size());
    ::explicit_bzero(hex.data(), hex.size());
    return written;
}

std::string name_for_file(const std::string& path) {
    const std::string leaf = path.substr(path.rfind('/') + 1);
    return leaf.substr(0, leaf.rfind('.'));
}

}  // namespace cinnabar::tools::security
