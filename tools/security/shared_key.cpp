// SPDX-License-Identifier: BSD-3-Clause
#include "security/shared_key.hpp"

#include "security/names.hpp"
#include "security/new_file.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cinnabar::tools::security {
namespace {

constexpr std::size_t key_bytes = 32;

Result<std::array<unsigned char, key_bytes>> random_bytes() {
    std::array<unsigned char, key_bytes> bytes{};
    for (std::size_t have = 0; have < bytes.size();) {
        const ssize_t count = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return Error(errc_from_errno(errno), "the system has no random bytes", {}, errno);
        have += static_cast<std::size_t>(count);
    }
    return bytes;
}

}  // namespace

Result<void> make_shared_key(const std::string& path, const std::string& name) {
    CINNABAR_TRY_VOID(check_name(name));
    CINNABAR_TRY(auto bytes, random_bytes());
    std::string line;
    line.reserve(name.size() + 2 * bytes.size() + 2);  // so that no other memory has it
    line += name;
    line += ':';
    constexpr const char* digits = "0123456789abcdef";
    for (const unsigned char byte : bytes) {
        line += digits[byte >> 4];
        line += digits[byte & 15];
    }
    line += '\n';
    auto written = write_new_file(path, line, 0600);
    ::explicit_bzero(line.data(), line.size());
    ::explicit_bzero(bytes.data(), bytes.size());
    return written;
}

std::string name_for_file(const std::string& path) {
    const std::string leaf = path.substr(path.rfind('/') + 1);
    return leaf.substr(0, leaf.rfind('.'));
}

}  // namespace cinnabar::tools::security
