// SPDX-License-Identifier: BSD-3-Clause
#include "pinned.hpp"

#include "rdma_library.hpp"
#include "system_errors.hpp"

#include <cinnabar/base/log.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace cinnabar::verbs {

void RegistrationDeleter::operator()(ibv_mr* registration) const noexcept {
    if (const int why = rdma().dereg_mr(registration); why != 0) {
        log(LogLevel::warning, "verbs", "the device cannot deregister memory: %s", std::strerror(why));
    }
}

Result<Pinned> Pinned::make(const Device& device, std::size_t bytes, int access) {
    void* room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return Error(Errc::out_of_memory, "mapping buffers for messages", {}, errno);
    Pinned pinned;
    pinned.bytes_ = {static_cast<std::byte*>(room), bytes};
    (void)::madvise(room, bytes, MADV_DONTFORK);
    pinned.registration_.reset(rdma().reg_mr(device.pd(), room, bytes, access));
    if (!pinned.registration_) return registration_error(errno);
    return pinned;
}

Pinned::Pinned(Pinned&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), registration_(std::move(other.registration_)) {}

Pinned& Pinned::operator=(Pinned&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(registration_, other.registration_);
    return *this;
}

Pinned::~Pinned() {
    registration_.reset();
    if (!bytes_.empty()) (void)::munmap(bytes_.data(), bytes_.size());
}

}  // namespace cinnabar::verbs
