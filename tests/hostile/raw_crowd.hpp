// SPDX-License-Identifier: BSD-3-Clause
// Peers made of raw bytes, for what none of our transports does: partial greetings, messages and transfers, lanes with
// wrong and repeated tokens, unlimited accesses. Each peer stays until it has done enough or the target has closed its
// connection, and comes back as another one.
#pragma once

#include "crowd.hpp"
#include "greeting.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::hostile {

class RawCrowd final : public Others {
  public:
    enum class Does : std::uint8_t {
        half_greetings,   // then nothing; on any network whose greetings use tcp
        half_messages,    // one byte now and then, but never the last one
        half_puts,        // the same, on the bulk lane
        wrong_tokens,     // dials lanes of sessions that do not exist
        repeated_tokens,  // dials the one lane of its session again and again
        unread_gets,      // of memory that is not lent, and reads no answers
    };
    // `target`: a URI with the host 127.0.0.1.
    RawCrowd(unsigned members, const std::string& target, Does does);

    void step() override;
    [[nodiscard]] bool began() const noexcept override;

  private:
    struct Member {
        UniqueFd session;
        std::vector<std::byte> greeted;  // the part of the answer to its greeting that has arrived
        std::optional<tcp::Greeting> accepted;
        std::deque<UniqueFd> lanes;
        std::vector<std::byte> half;  // the part of a frame that it sends
        std::size_t said = 0;
        unsigned steps = 0;  // since it last came back
        bool began = false;
    };
    void come(Member& member);
    void meet(Member& member);
    void act(Member& member);
    void drip(Member& member, const UniqueFd& into);
    void dial_lane(Member& member, bool with_right_token);
    void ask(Member& member);
    [[nodiscard]] UniqueFd dial() const;
    [[nodiscard]] tcp::Greeting greeting(na::HelloKind kind) const;

    const std::uint16_t port_;
    const Does does_;
    std::vector<Member> members_;
    std::size_t next_ = 0;
    std::uint64_t came_ = 0;
};

}  // namespace cinnabar::hostile
