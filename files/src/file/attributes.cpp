// SPDX-License-Identifier: BSD-3-Clause
#include "file/kept_attributes.hpp"
#include "file/stored_checksum.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/file_error.hpp>

#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <utility>

namespace cinnabar::files {
namespace {

bool is_acl(std::string_view name) { return name == "system.posix_acl_access" || name == "system.posix_acl_default"; }

// Reads into a buffer of the largest allowed size, since the list may grow between asking for its size and reading it.
Result<std::string> list_names(int fd, std::string_view name) {
    std::string names(extended_bytes_max, '\0');
    const ssize_t bytes = ::flistxattr(fd, names.data(), names.size());
    if (bytes < 0 && errno == ENOTSUP) return std::string();
    if (bytes < 0 && errno == ERANGE)
        return Error{Errc::too_large, "its extended attributes are too many", printable(name)};
    if (bytes < 0) return file_error(errno, "cannot list its extended attributes", name);
    names.resize(static_cast<std::size_t>(bytes));
    return names;
}

Result<void> give_mode(int fd, std::uint32_t mode, std::string_view name) {
    if (::fchmod(fd, static_cast<mode_t>(mode & 0777u)) == 0) return {};
    return file_error(errno, "cannot set its permissions", name);
}

Result<void> give_extended(int fd, const ExtendedAttribute& attribute, std::string_view name) {
    if (!is_kept(attribute.name, {true, true}))
        return Error{Errc::permission, "extended attributes of that kind are not kept", printable(name)};
    if (::fsetxattr(fd, attribute.name.c_str(), attribute.value.data(), attribute.value.size(), 0) == 0) return {};
    if (errno == ENOTSUP || errno == ERANGE || errno == E2BIG)
        return Error{Errc::invalid_argument, "the file system cannot hold one of its extended attributes",
                     printable(name), errno};
    return file_error(errno, "cannot set an extended attribute", name);
}

// fsetxattr needs write permission on the file, whatever the descriptor was opened for, so a read-only file is made
// writable for its owner first. ACLs are set last: they contain the mode, and may take the write permission away.
Result<void> give_extended(int fd, const Attributes& attributes, std::string_view name) {
    CINNABAR_TRY_VOID(give_mode(fd, attributes.mode | S_IWUSR, name));
    for (const bool acls : {false, true}) {
        for (const auto& attribute : attributes.extended) {
            if (is_acl(attribute.name) == acls) CINNABAR_TRY_VOID(give_extended(fd, attribute, name));
        }
    }
    return {};
}

}  // namespace

bool is_kept(std::string_view name, const ExtendedKinds& kinds) noexcept {
    if (name.find('\0') != std::string_view::npos || name.starts_with(own_attributes)) return false;
    return (kinds.user && name.starts_with("user.")) || (kinds.acls && is_acl(name));
}

std::size_t extended_bytes(const std::vector<ExtendedAttribute>& extended) noexcept {
    std::size_t bytes = 0;
    for (const auto& attribute : extended) bytes += attribute.name.size() + 1 + attribute.value.size();
    return bytes;
}

Result<std::vector<ExtendedAttribute>> read_extended(int fd, const ExtendedKinds& kinds, std::string_view name) {
    std::vector<ExtendedAttribute> result;
    if (!kinds.user && !kinds.acls) return result;
    CINNABAR_TRY(const auto names, list_names(fd, name));
    std::size_t total = 0;
    for (std::size_t at = 0; at < names.size();) {
        const std::string attribute = names.c_str() + at;
        at += attribute.size() + 1;
        if (!is_kept(attribute, kinds)) continue;
        std::string value(extended_bytes_max, '\0');
        const ssize_t bytes = ::fgetxattr(fd, attribute.c_str(), value.data(), value.size());
        if (bytes < 0 && errno == ENODATA) continue;  // gone meanwhile
        if (bytes < 0 && errno != ERANGE) return file_error(errno, "cannot read an extended attribute", name);
        if (bytes >= 0) total += attribute.size() + 1 + static_cast<std::size_t>(bytes);
        if (bytes < 0 || total > extended_bytes_max)
            return Error{Errc::too_large, "its extended attributes are over 64 KiB", printable(name)};
        value.resize(static_cast<std::size_t>(bytes));
        result.push_back({attribute, std::move(value)});
    }
    return result;
}

Result<void> give_attributes(int fd, const Attributes& attributes, std::string_view name) {
    if (attributes.modified_ns >= 1'000'000'000)
        return Error{Errc::invalid_argument, "its time of modification is invalid", printable(name)};
    if (!attributes.extended.empty()) CINNABAR_TRY_VOID(give_extended(fd, attributes, name));
    CINNABAR_TRY_VOID(give_mode(fd, attributes.mode, name));
    const timespec times[2] = {{0, UTIME_OMIT}, {attributes.modified_s, static_cast<long>(attributes.modified_ns)}};
    if (::futimens(fd, times) != 0) return file_error(errno, "cannot set its time of modification", name);
    return {};
}

}  // namespace cinnabar::files
