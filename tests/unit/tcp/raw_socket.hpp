// SPDX-License-Identifier: BSD-3-Clause
// A hand-made peer: a plain socket that sends bytes of the test's choice. Never blocks.
#pragma once

#include "tcp/src/frame.hpp"
#include "tcp/src/greeting.hpp"

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
    // As write(), but the peer may have closed the connection.
    void write_if_open(ConstBytes bytes);
    void write(const Greeting& greeting) { write(greeting.encode()); }
    void write(const Frame& frame, const FrameBody& body = {}, ConstBytes data = {});
    // A frame of lane 0 with its padding.
    void write_message(na::Tag tag, std::size_t bytes, FrameKind kind = FrameKind::unexpected);

    // Reads what has arrived; true if the other side has closed the connection.
    bool closed();
    // Removes and returns the first `count` received bytes; nothing if there are fewer.
    [[nodiscard]] std::optional<std::vector<std::byte>> take(std::size_t count);
    [[nodiscard]] std::optional<Greeting> take_greeting();
    [[nodiscard]] std::size_t received() {
        (void)closed();
        return received_.size();
    }
    void hang_up() { fd_.reset(); }
    // Makes the next close send a reset.
    void reset();
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::vector<std::byte> received_;
    bool closed_ = false;
};

// A listener that is not a transport.
class RawListener {
  public:
    RawListener();
    [[nodiscard]] std::string endpoint() const;
    // Empty if there is no incoming connection.
    [[nodiscard]] std::optional<RawSocket> accept();

  private:
    UniqueFd fd_;
};

// A port of the loopback at which nothing listens now.
[[nodiscard]] std::string nobody();

// A greeting that dials, from a process with that incarnation.
[[nodiscard]] Greeting dial_greeting(na::Incarnation incarnation, na::ContextId context = 0);

}  // namespace cinnabar::tcp
