// SPDX-License-Identifier: BSD-3-Clause
// The frames of one session on their way to the provider: control frames, and messages of the layers above. It bounds
// what the provider holds of the session. Owner of the context only.
#pragma once

#include "buffers.hpp"
#include "frame.hpp"

namespace cinnabar::ofi {

class Session;

// What became of something that was to be sent.
enum class Sent : std::uint8_t {
    all,
    blocked,      // the provider has no room: it is tried again
    unconfirmed,  // may_send() is false: a completion of this session goes on with it
};

class FrameSender {
  public:
    // Control frames that wait to be sent; more, and the peer asks without taking answers.
    static constexpr std::uint32_t controls_max = 4096;
    // Frames with the provider that are not known to have left, at most: some providers queue without a limit, and copy
    // what is injected. Every confirm_every-th frame is sent with a completion.
    static constexpr std::uint32_t unconfirmed_max = 128;
    static constexpr std::uint32_t confirm_every = 32;
    static_assert(unconfirmed_max >= 2 * confirm_every);

    explicit FrameSender(Session& session) noexcept : session_(session) {}

    void reset() noexcept;
    // The peer's name for its end of the session, which each frame carries.
    void set_receiver(const SessionName& receiver) noexcept { receiver_ = receiver; }

    // Queues a control frame with room for `data_bytes` behind its head. Null, and the session ends, when a limit is
    // reached.
    Buffer* queue_control(const Frame& frame, const TransferBody& body, std::size_t data_bytes = 0) noexcept;
    [[nodiscard]] Sent send_controls() noexcept;
    [[nodiscard]] Sent send_messages() noexcept;

    // The session ends: the ops of what is with the fabric end with `why`.
    void end(Errc why) noexcept;
    void drop_controls() noexcept;
    // The endpoint is closed: the fabric has forgotten everything.
    void abandon() noexcept;
    // The fabric gives a buffer back.
    void sent(Buffer& buffer, const Done& done) noexcept;

    [[nodiscard]] std::uint32_t controls_waiting() const noexcept { return controls_count_; }
    // The peer has not taken what the provider has.
    [[nodiscard]] bool waits_for_peer() const noexcept { return refused_; }

  private:
    [[nodiscard]] Errc send(Buffer& buffer, std::byte* frame) noexcept;
    // Whether one more frame may go to the provider. If not, the caller ends with Sent::unconfirmed.
    [[nodiscard]] bool may_send() noexcept;
    void confirmed(std::uint32_t frames) noexcept;

    Session& session_;
    SessionName receiver_;
    BufferList controls_;
    std::uint32_t controls_count_ = 0;
    BufferList sending_;             // of ops and of control frames, with the fabric
    std::uint32_t unconfirmed_ = 0;  // frames
    std::uint32_t injected_ = 0;     // of them, since the last one that has a completion
    bool refused_ = false;           // may_send() has said no
};

}  // namespace cinnabar::ofi
