// SPDX-License-Identifier: BSD-3-Clause
// One operation on the network, made beforehand, owned by the caller, reused, never moved. Fill in the arguments, post
// it through a Context, and do not touch it until its completion: `ok` from the post means exactly one completion,
// never from inside the post; anything else means that nothing was taken and no completion comes.
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

// What a plugin may keep in an op; a static_assert in each plugin holds it to this.
inline constexpr std::size_t op_private_bytes_max = 96;

enum class OpKind : std::uint8_t { send_unexpected, send_expected, put, get, put_notify, fetch_add, compare_swap };

enum class OpState : std::uint8_t { idle, handed_over, posted };

// A piece of the peer's memory as its owner described it: the key bytes are the transport's own (Lease::describe) and
// must live until the op completes. Nothing in it is trusted by the owner.
struct RemoteMemory {
    ConstBytes key;
    std::uint64_t bytes = 0;  // of the whole lease
};

// `work` is the node by which a foreign thread hands the op over (Context::post); after the completion it is the
// owner's to use.
struct Op {
    Work work;
    // Runs once, inside progress(), owner of the context: may post, never calls user code. `result` is set before.
    void (*complete)(Op& self) noexcept = nullptr;
    void* user = nullptr;  // the poster's own

    OpKind kind = OpKind::send_unexpected;
    OpState state = OpState::idle;  // na's own
    Errc result = Errc::ok;
    bool cancel_asked = false;  // na's own
    std::uint32_t message_bytes = 0;
    Peer* peer = nullptr;  // lives until the completion: na holds a reference

    // Messages. The buffer may be reused after the completion.
    Message* message = nullptr;
    Tag tag = 0;

    // RMA: `bytes` at `local_offset` of the local registration, at `remote_offset` of the peer's lease. Done of a put
    // means placed at the target; of a get, here.
    Memory* local = nullptr;
    std::uint64_t local_offset = 0;
    RemoteMemory remote;
    std::uint64_t remote_offset = 0;
    std::uint64_t bytes = 0;
    std::uint32_t notify = 0;  // put_notify: the value for the peer's Receiver::on_notify

    // Atomics on 8 aligned bytes at remote_offset: `operand` is the addend or the new value.
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
    std::uint64_t fetched = 0;  // what was there before

    alignas(16) std::byte private_bytes[op_private_bytes_max];

    Op() = default;
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;
};

}  // namespace cinnabar::na
