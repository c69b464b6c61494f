// SPDX-License-Identifier: BSD-3-Clause
// Makes random calls, whose arguments tell the handler what to do, and adds them to the ledger.
#pragma once

#include "ledger.hpp"

#include <cinnabar/na/addr.hpp>

#include <functional>

namespace cinnabar::seeds {

// The first part of all arguments.
struct Ask {
    std::uint64_t id = 0;
    std::uint64_t dice = 0;  // random bits for the handler's decisions
    std::uint32_t reply_bytes = 0;
    std::uint32_t pattern_bytes = 0;  // at the end of the arguments, of pattern `id`
    std::uint8_t depth = 0;           // of a relay: how many more calls may follow
    std::uint8_t lent = 0;            // descriptors that follow, each after {u64 seed, u8 access}

    void encode(ByteWriter& writer) const noexcept;
    [[nodiscard]] static Ask decode(ByteReader& reader) noexcept;
    static constexpr std::size_t wire_bytes = 26;
};

struct Wish {
    Kind kind = Kind::echo;
    na::Addr to;
    TimeUs deadline = time_never;
    std::uint32_t argument_bytes = 0;
    std::uint32_t reply_bytes = 0;
    std::uint8_t depth = 0;
    std::function<void(Sent&, Errc)> then = {};
};

class Calls {
  public:
    explicit Calls(Mesh& mesh) : mesh_(mesh) {}

    // Null: the call could not be made, and `then` will not run.
    Sent* send(Process& from, Wish wish);
    // A random size in bytes.
    [[nodiscard]] std::uint32_t any_bytes();
    [[nodiscard]] TimeUs any_deadline();

  private:
    [[nodiscard]] Bytes room_for(rpc::Call& call, std::size_t bytes);
    [[nodiscard]] bool lend(Sent& sent, rpc::Call& call, ByteWriter& writer);
    [[nodiscard]] std::unique_ptr<Lent> make_lent(std::uint64_t seed);
    Sent* give_up(Sent& sent);

    Mesh& mesh_;
};

}  // namespace cinnabar::seeds
