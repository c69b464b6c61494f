// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/secret_bytes.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace cinnabar {
namespace {

// Without the lock a key still works, but may be written to swap space.
void lock_in_memory(void* at, std::size_t bytes) noexcept {
    static constinit std::atomic_flag told;
    if (::mlock(at, bytes) == 0 || told.test_and_set()) return;
    log(LogLevel::warning, "base",
        "keys cannot be locked in memory and may be written to swap space: %s; raise the limit of locked memory "
        "(ulimit -l)",
        std::strerror(errno));
}

}  // namespace

Result<SecretBytes> SecretBytes::make(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t mapped = (bytes + page) / page * page;
    void* const at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return Error(Errc::out_of_memory, "no memory for a key", {}, errno);
    lock_in_memory(at, mapped);
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

}  // namespace cinnabar
