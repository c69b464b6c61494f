// SPDX-License-Identifier: BSD-3-Clause
#include "secret_file.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace cinnabar::tls {
namespace {

constexpr std::size_t file_bytes_max = 64 * 1024;

Error failure(std::string_view what, const std::string& path) {
    const int why = errno;
    return Error(errc_from_errno(why), what, path, why);
}

Result<UniqueFd> open_secret(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return failure("cannot open the file with the key", path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return failure("cannot look at the file with the key", path);
    if (!S_ISREG(status.st_mode)) return Error(Errc::invalid_argument, "the key is not a regular file", path);
    if ((status.st_mode & 077) != 0)
        return Error(Errc::permission, "the file with the key is open to others: chmod 600 it", path);
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return Error(Errc::permission, "the file with the key belongs to somebody else", path);
    return file;
}

}  // namespace

Result<SecretBytes> read_secret_file(const std::string& path) {
    CINNABAR_TRY(const UniqueFd file, open_secret(path));
    CINNABAR_TRY(SecretBytes secret, SecretBytes::make(file_bytes_max + 1));
    std::size_t have = 0;
    while (have < secret.bytes().size()) {
        const ssize_t count = ::read(file.get(), secret.bytes().data() + have, secret.bytes().size() - have);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure("cannot read the file with the key", path);
        if (count == 0) break;
        have += static_cast<std::size_t>(count);
    }
    if (have > file_bytes_max) return Error(Errc::invalid_argument, "a file with a key has at most 64 KiB", path);
    secret.shorten(have);
    return secret;
}

}  // namespace cinnabar::tls
