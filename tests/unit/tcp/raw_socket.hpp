// SPDX-License-Identifier: BSD-3-Clause
// A peer made by hand: a plain socket that sends the bytes that a test chooses. Never blocks.
#pragma once

#include "framing.hpp"
#include "greeting.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tcp {

class RawSocket {
  public:
    // Connects to an endpoint of 127.0.0.1.
    explicit RawSocket(const std::string& endpoint);
    explicit RawSocket(UniqueFd fd) : fd_(std::move(fd)) {}

    void write(ConstBytes bytes);
    // The same to a peer that may have hung up.
    void write_if_open(ConstBytes bytes);
    void write(const Greeting& greeting) { write(greeting.encode()); }
    void write(const Frame& frame, const FrameBody& body = {}, ConstBytes data = {});
    // A frame of lane 0 with its padding.
    void write_message(na::Tag tag, std::size_t bytes, FrameKind kind = FrameKind::unexpected);

    // Reads what is there into `received`; true when the other side has closed.
    bool closed();
    // Removes and returns the first `count` received bytes; nothing if there are fewer.
    [[nodiscard]] std::optional<std::vector<std::byte>> take(std::size_t count);
    [[nodiscard]] std::optional<Greeting> take_greeting();
    [[nodiscard]] std::size_t received() {
        (void)closed();
        return received_.size();
    }
    void hang_up() { fd_.reset(); }
    // The next close sends a reset.
    void reset();
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::vector<std::byte> received_;
    bool closed_ = false;
};

// A listener that is no transport.
class RawListener {
  public:
    RawListener();
    [[nodiscard]] std::string endpoint() const;
    // Empty when nobody has connected.
    [[nodiscard]] std::optional<RawSocket> accept();

  private:
    UniqueFd fd_;
};

// A port of the loopback where nobody listens now.
[[nodiscard]] std::string nobody();

// A `dial` of a process with that incarnation.
[[nodiscard]] Greeting dial_greeting(na::Incarnation incarnation, na::ContextId context = 0);

}  // namespace cinnabar::tcp
