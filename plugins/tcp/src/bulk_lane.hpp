// SPDX-License-Identifier: BSD-3-Clause
// Lane 1 of a session: put, get and atomics as frames. Data go straight between the socket and registered memory; only
// headers, and what comes in one read behind them, pass through a staging buffer of the port.
//
// Memory is looked up anew before each system call: the peer's leases by a pin, the own operations by their slot. So a
// revoked lease or a canceled operation is never touched again: what still comes goes to discard, what was promised in
// a frame's header goes out as zeros.
#pragma once

#include "connection.hpp"
#include "framing.hpp"

#include <cinnabar/na/session/socket.hpp>

#include <array>
#include <optional>

namespace cinnabar::tcp {

class BulkLane;

// An admitted operation of this side. Its id on the wire is generation << 32 | slot index.
struct RmaSlot : PoolSlot {
    Posted* posted = nullptr;
    BulkLane* lane = nullptr;
    std::uint32_t generation = 1;
};

// What this side owes the peer: the data of a get, or a small answer.
struct Owed : PoolSlot {
    ListLink<Owed> link;
    FrameKind kind = FrameKind::get_data;
    Errc status = Errc::ok;
    std::uint64_t id = 0;
    std::uint64_t value = 0;  // atomic_done
    na::LeaseKey key;         // get_data
    std::uint64_t offset = 0;
    std::uint64_t left = 0;
};
using OwedList = IntrusiveList<Owed, &Owed::link>;

class BulkLane final : public Connection {
  public:
    // Operations of this side that the peer knows of, at most; others wait.
    static constexpr std::uint32_t admitted_max = 64;
    // What a peer may have this side owe it: more than it can ask for while it keeps to admitted_max.
    static constexpr std::uint32_t owed_max = 16 * admitted_max;

    [[nodiscard]] bool start(TcpPort& port, TcpPeer& peer, UniqueFd fd) noexcept;
    // Closes the socket; admitted operations end with `why`.
    void end(Errc why) noexcept;

    unsigned receive() noexcept override;  // bulk_receive.cpp
    void transmit() noexcept override;     // bulk_send.cpp
    [[nodiscard]] bool urgent() const noexcept override { return false; }

    void cancel(Posted& posted) noexcept;  // rma_origin.cpp

  private:
    enum class Source : std::uint8_t { none, put, get, zeros };  // of the data that go out
    enum class Sink : std::uint8_t { discard, get, put };        // of the data that come in

    // bulk_send.cpp
    [[nodiscard]] bool refill() noexcept;
    [[nodiscard]] bool refill_data() noexcept;
    void sent(std::size_t bytes) noexcept;
    void data_sent() noexcept;
    void append(const Frame& frame, const FrameBody& body) noexcept;
    [[nodiscard]] std::size_t head_room() const noexcept { return out_head_.size() - out_end_; }

    // bulk_receive.cpp
    struct Destination;
    void find_destination(std::uint64_t bytes_max, Destination& to) noexcept;
    void data_came(std::uint64_t bytes) noexcept;
    unsigned parse(ConstBytes bytes) noexcept;
    [[nodiscard]] ConstBytes parse_head(ConstBytes bytes, unsigned& did) noexcept;
    void copy_in(ConstBytes bytes) noexcept;
    void frame_came() noexcept;
    void data_complete() noexcept;

    // rma_origin.cpp
    [[nodiscard]] bool admit_next() noexcept;
    void admitted(Posted& posted, RmaSlot& slot) noexcept;
    [[nodiscard]] Posted* find(std::uint64_t id, bool (*of_kind)(na::OpKind)) noexcept;
    void retire(Posted& posted, Errc result) noexcept;
    void answered() noexcept;
    [[nodiscard]] bool begin_get_data() noexcept;
    void put_framed(Posted& posted) noexcept;

    // rma_owner.cpp
    [[nodiscard]] Owed* owe(FrameKind kind, std::uint64_t id, Errc status) noexcept;
    void release(Owed& owed) noexcept;
    void get_asked() noexcept;
    void begin_put() noexcept;
    void refuse_put(Errc why) noexcept;
    void put_complete() noexcept;
    void stop_asked() noexcept;
    void atomic_asked() noexcept;
    void lend_failed(Errc why) noexcept;

    // Output: a few encoded frames, of which the last may be followed by data.
    std::array<std::byte, 512> out_head_{};
    std::uint16_t out_begin_ = 0;
    std::uint16_t out_end_ = 0;
    Source source_ = Source::none;
    bool get_turn_ = false;       // puts and gets take turns
    Posted* put_ = nullptr;       // Source::put
    Owed* get_ = nullptr;         // Source::get
    std::uint64_t out_left_ = 0;  // data bytes of the frame that are not with the kernel
    PostedList puts_;
    PostedList awaiting_;
    OwedList answers_;
    OwedList gets_;
    std::uint32_t admitted_ = 0;
    std::uint32_t owed_ = 0;

    // Input.
    std::array<std::byte, frame_header_bytes + frame_body_bytes_max> in_head_{};
    std::uint8_t in_have_ = 0;
    bool header_known_ = false;
    Sink sink_ = Sink::discard;
    Frame in_;
    FrameBody body_;
    std::uint64_t in_left_ = 0;     // data bytes of the frame that did not come
    std::uint64_t refused_id_ = 0;  // the last put that was answered with a failure
    bool refused_any_ = false;
};

}  // namespace cinnabar::tcp
