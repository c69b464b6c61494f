// SPDX-License-Identifier: BSD-3-Clause
#include "secret_file.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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

Result<SecretBytes> SecretBytes::make(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t mapped = (bytes + page) / page * page;
    void* const at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return Error(Errc::out_of_memory, "no memory for a key", {}, errno);
    (void)::mlock(at, mapped);  // RLIMIT_MEMLOCK may not allow it
    (void)::madvise(at, mapped, MADV_DONTDUMP);
    SecretBytes made;
    made.at_ = static_cast<std::byte*>(at);
    made.size_ = bytes;
    made.mapped_ = mapped;
    return made;
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    return *this;
}

SecretBytes::~SecretBytes() {
    if (!at_) return;
    ::explicit_bzero(at_, mapped_);
    (void)::munmap(at_, mapped_);
}

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
