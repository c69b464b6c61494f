// SPDX-License-Identifier: BSD-3-Clause
// A buffer for sending: memory that its transport has registered, with the transport's header room hidden in front of
// the payload. A buffer is taken from a port and given back to the same port: by any thread if the context was opened
// with ThreadUse::many, only by the owner of the context if with ThreadUse::one. Only the code that took the buffer may
// access the contents, and not while a posted op sends them.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/slot_pool.hpp>

namespace cinnabar::na {

class Port;

struct Message : PoolSlot {
    Port* port = nullptr;          // the port that it was taken from
    std::byte* payload = nullptr;  // 8-byte aligned
    std::uint32_t payload_bytes_max = 0;
    std::uint32_t header_room = 0;  // bytes before `payload` that belong to the transport
    void* registration = nullptr;   // private to the transport

    [[nodiscard]] Bytes bytes() const noexcept { return {payload, payload_bytes_max}; }
};

}  // namespace cinnabar::na
