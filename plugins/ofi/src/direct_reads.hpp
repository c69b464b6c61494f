// SPDX-License-Identifier: BSD-3-Clause
// Reads that the fabric carries out by itself, with fi_read: what the reader and the owner of the memory keep of a
// lease meanwhile (decision 0022). The first operations on a lease go in messages, and while there are several the
// reader asks for keys: the owner registers the leased memory, pins the lease and names its pieces. When no operation
// of the reader's uses them any more, or the owner wants its memory back, the reader says that it has closed them. The
// owner then closes the registrations, and lets go of the lease when a message that it sent afterwards has left: what
// the fabric still had to answer went before that. Owner of the context only.
#pragma once

#include "endpoint.hpp"
#include "registrar.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/lease_table.hpp>

#include <rdma/fi_rma.h>

#include <array>
#include <optional>

namespace cinnabar::ofi {

class Session;

// Pieces of memory that one lease may have, to be read so.
inline constexpr std::size_t exposed_pieces_max = 32;

// The reader's side.
struct Opening final : PoolSlot {
    enum class State : std::uint8_t {
        seen,   // an operation on that lease is under way
        asked,  // and more were wanted
        open,
        closed,  // the owner does not have it so: all goes in messages
    };
    struct Part {
        std::uint64_t begin = 0;  // in the lease
        std::uint64_t bytes = 0;
        RemoteKey at;
    };
    static constexpr std::size_t parts_max = 8;  // of one chunk
    using Parts = std::array<fi_rma_iov, parts_max>;

    ListLink<Opening> link;
    std::uint32_t generation = 1;
    State state = State::seen;
    bool wanted_back = false;  // by the owner
    na::LeaseKey key;
    std::uint32_t users = 0;    // operations under way
    std::uint32_t readers = 0;  // of them, those that use the keys
    std::uint32_t parts_count = 0;
    std::array<Part, exposed_pieces_max> parts;

    // How it is named in frames.
    [[nodiscard]] std::uint64_t id() const noexcept { return std::uint64_t{generation} << 32 | slot_index; }
    // The parts of [offset, offset + bytes), how many; 0 when they are more than `most`, or it is not all there.
    [[nodiscard]] std::size_t gather(std::uint64_t offset, std::uint64_t bytes, Parts& out,
                                     std::size_t most) const noexcept;
};

// The owner's side. As an op of the fabric it is its marker.
struct Exposure final : FabricOp, PoolSlot {
    ListLink<Exposure> link;       // in one of its session's lists
    ListLink<Exposure> port_link;  // while it is open: in that of all of its port
    Session* session = nullptr;
    std::uint64_t id = 0;  // Opening::id()
    std::optional<na::LeaseTable::Pin> pin;
    std::uint32_t parts_count = 0;
    std::array<Registration, exposed_pieces_max> parts;
    bool wanted_back = false;  // and the reader was told
};

}  // namespace cinnabar::ofi
