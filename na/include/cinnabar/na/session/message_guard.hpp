// SPDX-License-Identifier: BSD-3-Clause
// Protects messages that two contexts exchange outside the stream that authenticated them, for example over a fabric.
// Owner of the context only.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

// Encrypts and authenticates messages with keys that only the two ends of the stream have. Each direction and each kind
// has keys of its own.
class MessageGuard {
  public:
    enum class Kind : std::uint8_t {
        frame,  // open() accepts each message once; it may be at most 1,023 behind the newest
        chunk,  // open() accepts messages in any order and repeatedly, so `head` must say where the bytes belong
    };
    // How many bytes longer a sealed message is.
    static constexpr std::size_t trailer_bytes = 24;

    virtual ~MessageGuard() = default;

    // Encrypts `from` to `to`, which may be the same memory and has room for trailer_bytes more. `head` is not
    // encrypted, but protected from changes, and is not part of the result. False: the message could not be encrypted.
    [[nodiscard]] virtual bool seal(Kind kind, ConstBytes head, ConstBytes from, std::byte* to) noexcept = 0;
    // Decrypts `sealed` in place; its last bytes are the trailer. False: the other end did not seal these bytes with
    // this head, or they are a frame that was opened before or is too far behind the newest frame. After false the
    // bytes are meaningless, and the session must end.
    [[nodiscard]] virtual bool open(Kind kind, ConstBytes head, Bytes sealed) noexcept = 0;
};

}  // namespace cinnabar::na
