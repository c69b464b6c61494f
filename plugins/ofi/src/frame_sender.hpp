// SPDX-License-Identifier: BSD-3-Clause
// Sends the frames of one session: messages of the upper layer and control frames. Limits how many frames of the
// session the provider holds. Owner of the context only.
#pragma once

#include "buffers.hpp"
#include "frame.hpp"

namespace cinnabar::ofi {

class Session;

// The outcome of sending what is waiting.
enum class Sent : std::uint8_t {
    all,
    blocked,      // the provider has no room; try again later
    unconfirmed,  // may_send() is false; the next completion of this session resumes sending
};

class FrameSender {
  public:
    // The maximum number of control frames that may wait to be sent. If more would wait, the session ends, because the
    // peer sends requests but does not read the answers.
    static constexpr std::uint32_t controls_max = 4096;
    // The maximum number of a session's frames that the provider may hold at a time. The number is limited because some
    // providers queue frames without limit, and copy injected frames. Injected frames have no completion, so at least
    // every confirm_every-th frame is sent with a completion.
    static constexpr std::uint32_t unconfirmed_max = 128;
    static constexpr std::uint32_t confirm_every = 32;
    static_assert(unconfirmed_max >= 2 * confirm_every);
    // Larger messages are not injected, because that copies them once more.
    static constexpr std::size_t send_now_bytes_max = 512;

    explicit FrameSender(Session& session) noexcept : session_(session) {}

    void reset() noexcept;
    // Sets the peer's name for its end of the session, which is in each frame.
    void set_receiver(const SessionName& receiver) noexcept { receiver_ = receiver; }

    // Queues a control frame with room for `data_bytes` after its head. Null: a limit was reached, and the session
    // ends.
    Buffer* queue_control(const Frame& frame, const TransferBody& body, std::size_t data_bytes = 0) noexcept;
    [[nodiscard]] Sent send_controls() noexcept;
    [[nodiscard]] Sent send_messages() noexcept;
    // As na::Port::send_now: injects a small message, unless it is due to be sent with a completion.
    [[nodiscard]] bool send_now(FrameKind kind, na::Tag tag, ConstBytes message) noexcept;

    // Ends the session: completes with `why` the ops whose frames the fabric has.
    void end(Errc why) noexcept;
    void drop_controls() noexcept;
    // Call when the endpoint was closed, so that the fabric no longer has any buffer.
    void abandon() noexcept;
    // Call when the fabric has given a buffer back.
    void sent(Buffer& buffer, const Done& done) noexcept;

    [[nodiscard]] std::uint32_t controls_waiting() const noexcept { return controls_count_; }
    // Whether sending stopped because the peer does not read.
    [[nodiscard]] bool waits_for_peer() const noexcept { return refused_; }

  private:
    [[nodiscard]] Errc send(Buffer& buffer, std::byte* frame) noexcept;
    [[nodiscard]] bool seal(Buffer& buffer, std::byte* frame) noexcept;
    [[nodiscard]] Buffer* buffer_for(const na::Op& op) noexcept;
    void end_message(Buffer& buffer, Errc why) noexcept;
    // Whether the provider may be given one more frame. If not, the caller returns Sent::unconfirmed.
    [[nodiscard]] bool may_send() noexcept;
    void confirmed(std::uint32_t frames) noexcept;

    Session& session_;
    SessionName receiver_;
    BufferList controls_;
    std::uint32_t controls_count_ = 0;
    BufferList sending_;             // buffers that the fabric has
    std::uint32_t unconfirmed_ = 0;  // frames not known to be sent
    std::uint32_t injected_ = 0;     // of those, the ones sent after the last frame with a completion
    bool refused_ = false;           // may_send() was false
};

}  // namespace cinnabar::ofi
