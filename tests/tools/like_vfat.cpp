// SPDX-License-Identifier: BSD-3-Clause
// Preloaded (LD_PRELOAD): below the folder CINNABAR_LIKE_VFAT, files and folders are as on a vfat that is mounted with
// the usual options, for kernels that have none. What Linux 6.1 does there is in its fs/fat:
//     names        no control characters, none of " * : < > ? \ | and no space at the end (EINVAL); dots at the end are
//                  cut off; names that differ by case only are one
//     links        neither symbolic nor hard ones (EPERM)
//     permissions  755, whatever is asked for, and no error
//     times        even seconds, from 1980 on
//     files        no holes, and none over CINNABAR_LIKE_VFAT_BYTES (EFBIG), which is 4 GiB - 1 in truth
//     attributes   no extended ones (ENOTSUP)
// With CINNABAR_LIKE_VFAT_UNKNOWN it does not say that it is vfat.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr mode_t all_have = 0755;
constexpr time_t oldest_s = 315'532'800;  // 1980-01-01

template <typename F>
F* real(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

bool is_inside(int fd) {
    static const char* const folder = std::getenv("CINNABAR_LIKE_VFAT");
    if (!folder) return false;
    std::array<char, PATH_MAX> path{};
    const int before = errno;
    const auto bytes = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
    errno = before;
    return bytes > 0 && std::string_view(path.data(), static_cast<std::size_t>(bytes)).starts_with(folder);
}

std::uint64_t bytes_max() {
    static const char* const text = std::getenv("CINNABAR_LIKE_VFAT_BYTES");
    return text ? std::strtoull(text, nullptr, 10) : UINT32_MAX;
}

int fails_with(int error) {
    errno = error;
    return -1;
}

bool is_bad(std::string_view name) {
    if (name.ends_with(' ')) return true;
    for (const char letter : name) {
        if (static_cast<unsigned char>(letter) < ' ' ||
            std::string_view("\"*:<>?\\|").find(letter) != std::string::npos)
            return true;
    }
    return false;
}

// The entry of the folder that the name means there, or the name without what is cut off it.
std::string held_name(int folder, std::string_view name) {
    while (name.size() > 1 && name.ends_with('.') && name != "..") name.remove_suffix(1);
    std::string held(name);
    const int fd = ::open(("/proc/self/fd/" + std::to_string(folder)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const reader = fd < 0 ? nullptr : ::fdopendir(fd);
    if (!reader) return held;
    while (const dirent* const entry = ::readdir(reader)) {
        if (::strcasecmp(entry->d_name, held.c_str()) != 0) continue;
        held = entry->d_name;
        break;
    }
    (void)::closedir(reader);
    return held;
}

timespec held_time(const timespec& time) {
    if (time.tv_nsec == UTIME_OMIT || time.tv_nsec == UTIME_NOW) return time;
    return {time.tv_sec < oldest_s ? oldest_s : time.tv_sec & ~time_t{1}, 0};
}

}  // namespace

#define WRAPPED(result, name, ...) extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__)

WRAPPED(int, openat, int folder, const char* name, int flags, ...) {
    static auto* const next = real<int(int, const char*, int, ...)>("openat");
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        std::va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    if (!is_inside(folder)) return next(folder, name, flags, mode);
    if ((flags & O_CREAT) != 0 && is_bad(name)) return fails_with(EINVAL);
    const int fd = next(folder, held_name(folder, name).c_str(), flags, mode);
    static auto* const change = real<int(int, mode_t)>("fchmod");
    if (fd >= 0 && (flags & O_CREAT) != 0) (void)change(fd, all_have);
    return fd;
}
WRAPPED(int, mkdirat, int folder, const char* name, mode_t mode) {
    static auto* const next = real<int(int, const char*, mode_t)>("mkdirat");
    if (!is_inside(folder)) return next(folder, name, mode);
    if (is_bad(name)) return fails_with(EINVAL);
    return next(folder, held_name(folder, name).c_str(), all_have);
}
WRAPPED(int, fstatat, int folder, const char* name, struct stat* status, int flags) {
    static auto* const next = real<int(int, const char*, struct stat*, int)>("fstatat");
    if (*name == '\0' || !is_inside(folder)) return next(folder, name, status, flags);
    return next(folder, held_name(folder, name).c_str(), status, flags);
}
WRAPPED(int, symlinkat, const char* target, int folder, const char* name) {
    static auto* const next = real<int(const char*, int, const char*)>("symlinkat");
    return is_inside(folder) ? fails_with(EPERM) : next(target, folder, name);
}
WRAPPED(int, linkat, int from, const char* old, int folder, const char* name, int flags) {
    static auto* const next = real<int(int, const char*, int, const char*, int)>("linkat");
    return is_inside(folder) ? fails_with(EPERM) : next(from, old, folder, name, flags);
}
WRAPPED(int, renameat2, int from, const char* old, int folder, const char* name, unsigned flags) {
    static auto* const next = real<int(int, const char*, int, const char*, unsigned)>("renameat2");
    if (!is_inside(folder)) return next(from, old, folder, name, flags);
    if (is_bad(name)) return fails_with(EINVAL);
    return next(from, old, folder, held_name(folder, name).c_str(), flags);
}
WRAPPED(int, renameat, int from, const char* old, int folder, const char* name) {
    return ::renameat2(from, old, folder, name, 0);
}
WRAPPED(int, fchmod, int fd, mode_t mode) {
    static auto* const next = real<int(int, mode_t)>("fchmod");
    return is_inside(fd) ? 0 : next(fd, mode);
}
WRAPPED(int, futimens, int fd, const struct timespec times[2]) {
    static auto* const next = real<int(int, const timespec*)>("futimens");
    if (!times || !is_inside(fd)) return next(fd, times);
    const timespec held[2] = {held_time(times[0]), held_time(times[1])};
    return next(fd, held);
}
WRAPPED(int, fallocate, int fd, int mode, off_t offset, off_t bytes) {
    static auto* const next = real<int(int, int, off_t, off_t)>("fallocate");
    if (!is_inside(fd)) return next(fd, mode, offset, bytes);
    if ((mode & ~FALLOC_FL_KEEP_SIZE) != 0) return fails_with(EOPNOTSUPP);
    return static_cast<std::uint64_t>(offset + bytes) > bytes_max() ? fails_with(EFBIG) : next(fd, mode, offset, bytes);
}
WRAPPED(int, ftruncate, int fd, off_t bytes) {
    static auto* const next = real<int(int, off_t)>("ftruncate");
    static auto* const reserve = real<int(int, int, off_t, off_t)>("fallocate");
    struct stat status {};
    if (!is_inside(fd) || ::fstat(fd, &status) != 0 || bytes <= status.st_size) return next(fd, bytes);
    if (static_cast<std::uint64_t>(bytes) > bytes_max()) return fails_with(EFBIG);
    return reserve(fd, 0, status.st_size, bytes - status.st_size);
}
WRAPPED(ssize_t, pwrite, int fd, const void* from, size_t bytes, off_t offset) {
    static auto* const next = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    if (is_inside(fd) && static_cast<std::uint64_t>(offset) + bytes > bytes_max()) return fails_with(EFBIG);
    return next(fd, from, bytes, offset);
}
WRAPPED(int, fsetxattr, int fd, const char* name, const void* value, size_t bytes, int flags) {
    static auto* const next = real<int(int, const char*, const void*, size_t, int)>("fsetxattr");
    return is_inside(fd) ? fails_with(ENOTSUP) : next(fd, name, value, bytes, flags);
}
WRAPPED(ssize_t, fgetxattr, int fd, const char* name, void* value, size_t bytes) {
    static auto* const next = real<ssize_t(int, const char*, void*, size_t)>("fgetxattr");
    return is_inside(fd) ? fails_with(ENOTSUP) : next(fd, name, value, bytes);
}
WRAPPED(int, fstatfs, int fd, struct statfs* system) {
    static auto* const next = real<int(int, struct statfs*)>("fstatfs");
    const int done = next(fd, system);
    static const bool unknown = std::getenv("CINNABAR_LIKE_VFAT_UNKNOWN") != nullptr;
    if (done == 0 && !unknown && is_inside(fd)) system->f_type = MSDOS_SUPER_MAGIC;
    return done;
}
WRAPPED(int, ioctl, int fd, unsigned long request, ...) {
    static auto* const next = real<int(int, unsigned long, ...)>("ioctl");
    std::va_list more;
    va_start(more, request);
    void* const argument = va_arg(more, void*);
    va_end(more);
    if (request == FS_IOC_GETFLAGS && is_inside(fd)) return fails_with(ENOTTY);
    return next(fd, request, argument);
}
