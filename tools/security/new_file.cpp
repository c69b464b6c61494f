// SPDX-License-Identifier: BSD-3-Clause
#include "security/new_file.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace cinnabar::tools::security {
namespace {

Error system_error(std::string_view what, const std::string& path) {
    const int why = errno;
    return Error(errc_from_errno(why), what, path, why);
}

bool write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t count = ::write(fd, content.data(), content.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        content.remove_prefix(static_cast<std::size_t>(count));
    }
    return ::fsync(fd) == 0;
}

}  // namespace

Result<void> write_new_file(const std::string& path, std::string_view content, mode_t mode) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file && errno == EEXIST)
        return Error(Errc::exists, "it is there already, and may be in use: choose another name, or remove it", path);
    if (!file) return system_error("cannot make the file", path);
    if (::fchmod(file.get(), mode) == 0 && write_all(file.get(), content)) return {};
    Error error = system_error("cannot write the file", path);
    (void)::unlink(path.c_str());
    return error;
}

Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode) {
    const std::string next = path + ".next";
    (void)::unlink(next.c_str());  // left by a process that was killed
    CINNABAR_TRY_VOID(write_new_file(next, content, mode));
    if (::rename(next.c_str(), path.c_str()) == 0) return {};
    Error error = system_error("cannot replace the file", path);
    (void)::unlink(next.c_str());
    return error;
}

Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return system_error("cannot open the file", path);
    std::string content(bytes_max + 1, '\0');
    std::size_t have = 0;
    while (have < content.size()) {
        const ssize_t count = ::read(file.get(), content.data() + have, content.size() - have);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error("cannot read the file", path);
        if (count == 0) break;
        have += static_cast<std::size_t>(count);
    }
    if (have > bytes_max) return Error(Errc::too_large, "the file is too large: give the right one", path);
    content.resize(have);
    return content;
}

}  // namespace cinnabar::tools::security
