// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>

#include <cerrno>

namespace cinnabar::files {

Error file_error(int os_errno, std::string_view doing, std::string_view name) {
    const auto error = [&](Errc code, std::string_view hint) { return Error{code, hint, printable(name), os_errno}; };
    switch (os_errno) {
        case ENOSPC:
            return error(Errc::no_space, "the disk is full");
        case EDQUOT:
            return error(Errc::no_space, "the quota is used up");
        case EFBIG:
            return error(
                Errc::no_space,
                "the file system or a limit does not allow a file of that size: split it, or keep it elsewhere");
        case EEXIST:
            return error(Errc::exists, "a file of that name exists and is kept: give --replace to replace it");
        case EXDEV:
            return error(Errc::permission, "the path leaves the root or its file system");
        case ELOOP:
            return error(Errc::permission, "the path has too many links, or one that may not be followed");
        case EISDIR:
            return error(Errc::invalid_argument, "it is a directory: name a file");
        case ENOTDIR:
            return error(Errc::invalid_argument, "a part of the path is not a directory");
        case EINVAL:
        case EILSEQ:
            return error(Errc::invalid_argument, "the file system does not take that name");
        case EAGAIN:
            return error(Errc::busy, "another program has a lease on it, or keeps renaming a part of its path");
        case ENAMETOOLONG:
            return error(Errc::too_large, "the name is too long for the file system");
        default:
            return error(errc_from_errno(os_errno), doing);
    }
}

}  // namespace cinnabar::files
