// SPDX-License-Identifier: BSD-3-Clause
// One operation on the network. The caller owns it, may reuse it, and never moves it. Fill in the arguments, post it
// through a Context, and do not touch it until its completion. If the post returns `ok`, exactly one completion
// follows, never inside the post; if the post returns anything else, the op was not taken and no completion follows.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/message.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::na {

class Memory;
class Peer;

// Bytes that a plugin may keep in an op; each plugin has a static_assert for it.
inline constexpr std::size_t op_private_bytes_max = 96;

enum class OpKind : std::uint8_t { send_unexpected, send_expected, put, get, put_notify, fetch_add, compare_swap };

enum class OpState : std::uint8_t { idle, handed_over, posted };

// A part of the peer's memory as its owner described it (Transport::describe). The key's format is private to the
// transport; the bytes of the key must live until the op completes. The owner checks everything in the key at each
// access.
struct RemoteMemory {
    ConstBytes key;
    std::uint64_t bytes = 0;  // of the whole lease
};

// Context::post uses the first member, `work`, to hand the op over to the owner of the context; after the completion
// the op's owner may use `work`.
struct Op {
    WorkItem work;
    // Runs once, inside progress(), as the owner of the context. `result` is set before. The function may post, and
    // never calls user code.
    void (*complete)(Op& self) noexcept = nullptr;
    void* user = nullptr;  // for the poster's use

    OpKind kind = OpKind::send_unexpected;
    OpState state = OpState::idle;  // private to na
    Errc result = Errc::ok;
    bool cancel_asked = false;  // private to na
    std::uint32_t message_bytes = 0;
    Peer* peer = nullptr;  // na holds a reference until the completion

    // Messages. The buffer may be reused after the completion.
    Message* message = nullptr;
    Tag tag = 0;

    // RMA: moves `bytes` between `local_offset` of the local registration and `remote_offset` of the peer's lease. A
    // put has completed when its bytes are in the target's memory, a get when they are in this side's memory.
    Memory* local = nullptr;
    std::uint64_t local_offset = 0;
    RemoteMemory remote;
    std::uint64_t remote_offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t notify = 0;  // put_notify: the value for the peer's Receiver::on_notify

    // Atomics on 8 aligned bytes at remote_offset. `operand` is the addend or the new value.
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
    std::uint64_t fetched = 0;  // the value before the operation

    alignas(16) std::byte private_bytes[op_private_bytes_max];

    Op() = default;
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;
};

}  // namespace cinnabar::na
