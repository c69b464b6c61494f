// SPDX-License-Identifier: BSD-3-Clause
// The connections of a client's session, and which one moves the next window. The first connection is that of the
// login; others are added if they help (stream_count.hpp). Belongs to the loop.
#pragma once

#include "session/protocol.hpp"
#include "session/stream_count.hpp"

#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <deque>

namespace cinnabar::files {

struct Stream {
    na::Addr server;  // the server's address over this connection
    std::uint32_t under_way = 0;
    bool usable = true;
};

class Streams {
  public:
    explicit Streams(na::Addr server) { streams_.push_back({std::move(server)}); }
    // Requires: no Use is left.
    ~Streams() = default;
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    // Held while a window is moved over a connection.
    class Use {
      public:
        Use(Streams& streams, Stream& stream) noexcept : streams_(streams), stream_(stream) {
            ++stream_.under_way;
            ++streams_.under_way_;
        }
        ~Use() {
            --stream_.under_way;
            if (--streams_.under_way_ == 0) streams_.count_.pause();
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        [[nodiscard]] const na::Addr& server() const noexcept { return stream_.server; }
        [[nodiscard]] bool is_first() const noexcept { return &stream_ == &streams_.streams_.front(); }
        // Call if the window was not moved. `why`: the error of the call, which may be the server's. If `why` shows
        // that the connection has failed, it moves no further windows. Requires: !is_first().
        void failed(const Error& why) const;

      private:
        Streams& streams_;
        Stream& stream_;
    };
    // Uses the connection that moves the fewest windows at present; with `only_first`, the first connection.
    [[nodiscard]] Use use(bool only_first = false) noexcept;

    // How many connections may move windows.
    [[nodiscard]] std::uint32_t usable() const noexcept;
    // The number for the next connection that is added to the session (Addr::in_parallel).
    [[nodiscard]] std::uint8_t next() const noexcept { return static_cast<std::uint8_t>(streams_.size()); }
    // The result lives as long as this object.
    [[nodiscard]] Stream& add(na::Addr server) { return streams_.emplace_back(Stream{std::move(server)}); }
    // Call when the connection of `stream` has ended. The stream stays in the list, but moves no further windows.
    void lose(Stream& stream) noexcept;
    // Lets at most count().wanted() connections move windows; the others stay open until the session ends.
    void keep_wanted() noexcept;

    [[nodiscard]] StreamCount& count() noexcept { return count_; }

  private:
    StreamCount count_{session_connections_max};
    std::deque<Stream> streams_;
    std::uint32_t under_way_ = 0;
};

}  // namespace cinnabar::files
