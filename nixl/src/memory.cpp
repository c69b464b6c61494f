// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <cinnabar/bulk/device_memory.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace cinnabar::nixl {

Result<bulk::Region> region_of(const MemoryId& id) {
    const auto [kind, device, address, bytes] = id;
    switch (kind) {
        case DRAM_SEG:
            return bulk::Region::expose(Bytes(reinterpret_cast<std::byte*>(address), bytes), na::Access::read_write);
        case VRAM_SEG: {
            void* const memory = reinterpret_cast<void*>(address);
            CINNABAR_TRY(auto far, bulk::device_memory(bulk::MemoryKind::cuda, memory, bytes));
            return bulk::Region::of_far(std::move(far), na::Access::read_write);
        }
        case FILE_SEG: {
            if (device > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return Errc::invalid_argument;
            const auto fd = static_cast<int>(device);
            auto both = bulk::Region::of_file(fd, address, bytes, na::Access::read_write);
            if (both.code() != Errc::permission) return both;
            return bulk::Region::of_file(fd, address, bytes, na::Access::read);
        }
        default:
            return Errc::unsupported;
    }
}

std::string encode_token(const RemoteBytes& token) {
    std::string bytes(rpc::proc_size(token), '\0');
    std::size_t used = 0;
    if (rpc::encode(std::as_writable_bytes(std::span(bytes)), token, used) != Errc::ok) used = 0;
    bytes.resize(used);
    return bytes;
}

Result<RemoteBytes> decode_token(const std::string& bytes) {
    if (bytes.empty()) return Errc::protocol;
    RemoteBytes token;
    // The decoder needs 8-byte aligned input.
    std::vector<std::uint64_t> aligned((bytes.size() + 7) / 8);
    const Bytes room = std::as_writable_bytes(std::span(aligned));
    std::memcpy(room.data(), bytes.data(), bytes.size());
    if (const Errc code = rpc::decode(room.first(bytes.size()), token); code != Errc::ok) return code;
    if (token.empty()) return Errc::protocol;
    return token;
}

nixl_status_t status_of(Errc code) noexcept {
    switch (code) {
        case Errc::ok:
            return NIXL_SUCCESS;
        case Errc::invalid_argument:
        case Errc::bad_address:
            return NIXL_ERR_INVALID_PARAM;
        case Errc::permission:
            return NIXL_ERR_NOT_ALLOWED;
        case Errc::canceled:
            return NIXL_ERR_CANCELED;
        case Errc::peer_lost:
        case Errc::unreachable:
        case Errc::refused:
        case Errc::shutting_down:
        case Errc::no_such_rpc:  // the other agent's backend has ended
        case Errc::stale:        // the memory is not registered any more, or that backend is ending
            return NIXL_ERR_REMOTE_DISCONNECT;
        case Errc::protocol:
        case Errc::bad_signature:
            return NIXL_ERR_MISMATCH;
        case Errc::unsupported:
            return NIXL_ERR_NOT_SUPPORTED;
        default:
            return NIXL_ERR_BACKEND;
    }
}

}  // namespace cinnabar::nixl
