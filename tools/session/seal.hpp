// SPDX-License-Identifier: BSD-3-Clause
// The calls of a session, signed: a MAC over the operation, its arguments, the token and a number that is good once. So
// who only reads the wire can neither make a call nor send one again. Both sides have one Seals for a session, and each
// numbers its own calls. Belongs to the loop.
#pragma once

#include "session/key.hpp"
#include "session/protocol.hpp"

#include <cinnabar/base/result.hpp>

#include <bitset>
#include <cstdint>
#include <optional>

namespace cinnabar::tools {

// The numbers that have come. Calls may overtake each other, by fewer than `span`.
class SeenNumbers {
  public:
    static constexpr std::uint64_t span = 4096;
    // False: it came before, or so many after it came that nobody knows. 0 is no number.
    [[nodiscard]] bool take(std::uint64_t number) noexcept;

  private:
    std::uint64_t highest_ = 0;
    std::bitset<span> seen_;  // of the last `span` up to highest_, by their remainder
};

// What the MAC covers beside token and number. Of lent memory that is its size: where it lies is made up when the call
// is encoded, and a lease is good for that call alone.
[[nodiscard]] MacText describe(const HoldIn& in);
[[nodiscard]] MacText describe(const OpenIn& in);
[[nodiscard]] MacText describe(const WindowIn& in);
[[nodiscard]] MacText describe(const PushIn& in);
[[nodiscard]] MacText describe(const FillIn& in);
[[nodiscard]] MacText describe(const CommitIn& in);
[[nodiscard]] MacText describe(const AskIn& in);
[[nodiscard]] MacText describe(const ReadIn& in);
[[nodiscard]] MacText describe(const FinishIn& in);
[[nodiscard]] MacText describe(const AbortIn& in);

class Seals {
  public:
    Seals() = default;
    // `secret`: empty without a key; then calls are numbered and not signed.
    Seals(const Token& token, std::optional<Secret> secret) : token_(token), secret_(std::move(secret)) {}

    [[nodiscard]] const Token& token() const noexcept { return token_; }
    // Signs a call of this side. Last, when all its arguments are there; once per call.
    template <typename In>
    void stamp(In& in) {
        in.seal = stamp(describe(in));
    }
    // permission: a call that the other side of this session did not make, or that came before.
    template <typename In>
    [[nodiscard]] Result<void> check(const In& in) {
        return check(in.seal, describe(in));
    }

  private:
    [[nodiscard]] Seal stamp(MacText text);
    [[nodiscard]] Result<void> check(const Seal& seal, MacText text);
    Token token_;
    std::optional<Secret> secret_;
    std::uint64_t next_ = 1;
    SeenNumbers seen_;
};

}  // namespace cinnabar::tools
