// SPDX-License-Identifier: BSD-3-Clause
#include "splice_faults.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cinnabar::test {
namespace {

std::atomic<SpliceFaults*> present{nullptr};

}  // namespace

SpliceFaults* SpliceFaults::now() { return present; }
SpliceFaults::SpliceFaults() { present = this; }
SpliceFaults::~SpliceFaults() { present = nullptr; }

void SpliceFaults::fail_loads(int number, int os_errno) {
    number_ = number;
    os_errno_ = os_errno;
}

void SpliceFaults::before_load(int number, std::function<void()> call) {
    number_ = number;
    call_ = std::move(call);
}

int SpliceFaults::load_fails() {
    const int load = ++loads;
    if (call_ && load == number_) call_();
    return os_errno_ != 0 && load >= number_ ? os_errno_ : 0;
}

}  // namespace cinnabar::test

extern "C" __attribute__((visibility("default"))) ssize_t splice(int in, off64_t* from, int out, off64_t* to,
                                                                 size_t bytes, unsigned flags) {
    if (auto* const faults = cinnabar::test::SpliceFaults::now()) {
        if (const int failed = from ? faults->load_fails() : 0; failed != 0) {
            errno = failed;
            return -1;
        }
        if (!from) ++faults->sends;
        if (const int failed = faults->no_room ? EAGAIN : faults->send_errno.load(); !from && failed != 0) {
            errno = failed;
            return -1;
        }
    }
    return ::syscall(SYS_splice, in, from, out, to, bytes, flags);
}

extern "C" __attribute__((visibility("default"))) int pipe2(int* ends, int flags) noexcept {
    const auto* const faults = cinnabar::test::SpliceFaults::now();
    if (!faults || !faults->no_pipes) return static_cast<int>(::syscall(SYS_pipe2, ends, flags));
    errno = EMFILE;
    return -1;
}
