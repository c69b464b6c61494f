// SPDX-License-Identifier: BSD-3-Clause
#include "peer_files.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::shm {
namespace {

// Needs Linux 5.6. Called directly, because older C libraries have no wrapper.
UniqueFd fetch(const PeerProcess& process, int number) noexcept {
#if defined(SYS_pidfd_getfd)
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.fd(), number, 0)));
#else
    (void)process;
    (void)number;
    return UniqueFd();
#endif
}

std::shared_ptr<const Segment> map_file(const PeerProcess& process, std::uint32_t file, std::uint64_t serial) {
    struct stat status {};
    const UniqueFd fd = fetch(process, static_cast<int>(file - 1));
    if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_ino != serial || status.st_size <= 0) return nullptr;
    Segment segment;
    if (Segment::attach(fd.get(), static_cast<std::size_t>(status.st_size), segment) != Errc::ok) return nullptr;
    return std::make_shared<const Segment>(std::move(segment));
}

}  // namespace

const std::shared_ptr<const Segment>& PeerFiles::map(const PeerProcess& process, std::uint32_t file,
                                                     std::uint64_t serial) noexcept {
    const auto is_it = [&](const Known& known) { return known.file == file && known.serial == serial; };
    if (!known_.empty() && is_it(known_.back())) return known_.back().segment;
    try {
        const auto at = std::find_if(known_.begin(), known_.end(), is_it);
        if (at != known_.end()) {
            std::rotate(at, at + 1, known_.end());
        } else {
            // The descriptor's number refers to another file by now, so the old file is gone.
            std::erase_if(known_, [&](const Known& known) { return known.file == file; });
            if (known_.size() == files_max) known_.erase(known_.begin());
            known_.push_back({file, serial, map_file(process, file, serial)});
        }
        return known_.back().segment;
    } catch (const std::bad_alloc&) {
        return none_;
    }
}

}  // namespace cinnabar::shm
