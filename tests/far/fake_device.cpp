// SPDX-License-Identifier: BSD-3-Clause
#include "fake_device.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace {

constexpr std::size_t page = 4096;

std::size_t rounded(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

}  // namespace

FakeAllocation::FakeAllocation(FakeAllocation&& other) noexcept { swap(other); }

FakeAllocation& FakeAllocation::operator=(FakeAllocation&& other) noexcept {
    swap(other);
    return *this;
}

void FakeAllocation::swap(FakeAllocation& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(handle_, other.handle_);
    std::swap(is_own_, other.is_own_);
}

FakeAllocation::~FakeAllocation() {
    if (!base_) return;
    if (!is_own_) {
        for (auto& opener : openers().processes) {
            pid_t self = ::getpid();
            if (opener.compare_exchange_strong(self, 0)) break;
        }
    }
    (void)::munmap(base_, rounded(handle_.bytes) + page);
    if (is_own_) (void)::close(handle_.fd);
}

FakeAllocation::Openers& FakeAllocation::openers() const {
    return *reinterpret_cast<Openers*>(base_ + rounded(handle_.bytes));
}

bool FakeAllocation::map(int fd) {
    void* const at = ::mmap(nullptr, rounded(handle_.bytes) + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(at);
    return true;
}

FakeAllocation FakeAllocation::make(std::size_t bytes) {
    FakeAllocation made;
    const int fd = ::memfd_create("fake-device", MFD_CLOEXEC);
    if (fd < 0) return made;
    made.handle_ = {::getpid(), fd, bytes};
    if (::ftruncate(fd, static_cast<off_t>(rounded(bytes) + page)) != 0 || !made.map(fd)) {
        (void)::close(fd);
        return made;
    }
    made.is_own_ = true;
    return made;
}

FakeAllocation FakeAllocation::open(const FakeHandle& handle) {
    FakeAllocation opened;
    const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.fd);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return opened;
    const off_t size = ::lseek(fd, 0, SEEK_END);
    opened.handle_ = handle;
    const bool fits = size >= 0 && static_cast<std::uint64_t>(size) == rounded(handle.bytes) + page;
    if (fits && opened.map(fd)) {
        for (auto& opener : opened.openers().processes) {
            pid_t nobody = 0;
            if (opener.compare_exchange_strong(nobody, ::getpid())) break;
        }
    }
    (void)::close(fd);
    return opened;
}

bool FakeAllocation::is_open_elsewhere() const {
    for (const auto& opener : openers().processes) {
        const pid_t process = opener.load();
        if (process != 0 && ::kill(process, 0) == 0) return true;
    }
    return false;
}
