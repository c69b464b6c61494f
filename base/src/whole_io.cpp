// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/whole_io.hpp>

#include <unistd.h>

#include <cerrno>

namespace cinnabar {

ssize_t read_at_most(int fd, Bytes to, std::uint64_t offset) noexcept {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t count = ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(done);
}

bool write_whole(int fd, ConstBytes from, std::uint64_t offset) noexcept {
    while (!from.empty()) {
        const ssize_t count = ::pwrite(fd, from.data(), from.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        if (count == 0) return errno = EIO, false;  // would never end
        offset += static_cast<std::uint64_t>(count);
        from = from.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

}  // namespace cinnabar
