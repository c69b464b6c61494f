// SPDX-License-Identifier: BSD-3-Clause
#include "file/stored_checksum.hpp"

#include <cinnabar/base/bytes.hpp>

#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>

namespace cinnabar::files {
namespace {

constexpr const char* attribute = "user.cinnabar.checksum";
constexpr std::uint8_t version = 1;
using Record = std::array<std::byte, 1 + 8 + 8 + 8 + 4>;

// The record: version, checksum, size, modification time.
Record encode(std::uint64_t checksum, const struct stat& status) noexcept {
    Record record{};
    ByteWriter to(record);
    to.u8(version);
    to.u64(checksum);
    to.u64(static_cast<std::uint64_t>(status.st_size));
    to.u64(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
    to.u32(static_cast<std::uint32_t>(status.st_mtim.tv_nsec));
    return record;
}

}  // namespace

bool store_checksum(int fd, std::uint64_t checksum) noexcept {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return false;
    const auto record = encode(checksum, status);
    const auto stored = [&] { return ::fsetxattr(fd, attribute, record.data(), record.size(), 0) == 0; };
    if (stored()) return true;
    // Whether an extended attribute may be set depends on the file's mode, not on how the descriptor was opened.
    if (errno != EACCES || (status.st_mode & S_IWUSR) != 0) return false;
    const mode_t mode = status.st_mode & 07777u;
    if (::fchmod(fd, mode | S_IWUSR) != 0) return false;
    const bool done = stored();
    return ::fchmod(fd, mode) == 0 && done;
}

StoredChecksum read_stored_checksum(int fd) noexcept {
    struct stat status {};
    Record record{};
    if (::fstat(fd, &status) != 0 ||
        ::fgetxattr(fd, attribute, record.data(), record.size()) != static_cast<ssize_t>(record.size()))
        return {};
    ByteReader from(record);
    if (from.u8() != version) return {};
    const auto checksum = from.u64();
    const bool same = record == encode(checksum, status);
    return {same ? StoredChecksum::State::good : StoredChecksum::State::outdated, checksum};
}

}  // namespace cinnabar::files
