// SPDX-License-Identifier: BSD-3-Clause
// Peers made of the bytes of a connection, for what no transport of ours says: halves of greetings, messages and
// transfers, lanes by wrong and by repeated tokens, accesses without a bound. Each stays until it has done so much, or
// the target has closed its connection, and comes back as another.
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
        half_greetings,   // and then nothing; on any network whose greetings go over tcp
        half_messages,    // a byte now and then, but the last one
        half_puts,        // the same, on the lane of transfers
        wrong_tokens,     // dials lanes of sessions that are not there
        repeated_tokens,  // dials the one lane of its session again and again
        unread_gets,      // of memory that is not lent, and takes no answer
    };
    // `target`: a uri whose host is 127.0.0.1.
    RawCrowd(unsigned members, const std::string& target, Does does);

    void step() override;
    [[nodiscard]] bool began() const noexcept override;

  private:
    struct Member {
        UniqueFd session;
        std::vector<std::byte> greeted;  // of the answer to its greeting, what came so far
        std::optional<tcp::Greeting> accepted;
        std::deque<UniqueFd> lanes;
        std::vector<std::byte> half;  // what it says of a frame
        std::size_t said = 0;
        unsigned steps = 0;  // in this life
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
