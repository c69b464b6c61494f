// SPDX-License-Identifier: BSD-3-Clause
// Signs the calls of a session: a MAC covers the operation, its arguments, the token, and a number that is good once.
// Whoever only reads the wire can neither forge a call nor replay one. Each side has one Seals for a session and
// numbers its own calls. Belongs to the loop.
#pragma once

#include "session/protocol.hpp"
#include "session/secret.hpp"

#include <cinnabar/base/result.hpp>

#include <bitset>
#include <cstdint>
#include <optional>

namespace cinnabar::files {

// The numbers of calls that have arrived. Calls may overtake each other by fewer than `span`.
class SeenNumbers {
  public:
    static constexpr std::uint64_t span = 4096;
    // False: the number was used before, or is too old to tell. 0 is never good.
    [[nodiscard]] bool take(std::uint64_t number) noexcept;

  private:
    std::uint64_t highest_ = 0;
    std::bitset<span> seen_;  // of the last `span` up to highest_, by their remainder
};

// What the MAC covers besides token and number. Of lent memory it covers the size only: the descriptor is made when the
// call is encoded.
[[nodiscard]] MacText describe(const HoldIn& in);
[[nodiscard]] MacText describe(const OpenIn& in);
[[nodiscard]] MacText describe(const WindowIn& in);
[[nodiscard]] MacText describe(const PushIn& in);
[[nodiscard]] MacText describe(const FillIn& in);
[[nodiscard]] MacText describe(const CommitIn& in);
[[nodiscard]] MacText describe(const AskIn& in);
[[nodiscard]] MacText describe(const ReadIn& in);
[[nodiscard]] MacText describe(const FinishIn& in);
[[nodiscard]] MacText describe(const LendIn& in);
[[nodiscard]] MacText describe(const TakeIn& in);
[[nodiscard]] MacText describe(const AbortIn& in);
[[nodiscard]] MacText describe(const MakeIn& in);
[[nodiscard]] MacText describe(const ListIn& in);
[[nodiscard]] MacText describe(const RemainsIn& in);
[[nodiscard]] MacText describe(const PackIn& in);
[[nodiscard]] MacText describe(const SumIn& in);
[[nodiscard]] MacText describe(const LookIn& in);
[[nodiscard]] MacText describe(const RemoveIn& in);

class Seals {
  public:
    Seals() = default;
    // `secret`: empty without a key; then calls are numbered and not signed.
    Seals(const Token& token, std::optional<Secret> secret) : token_(token), secret_(std::move(secret)) {}

    [[nodiscard]] const Token& token() const noexcept { return token_; }
    // Signs a call of this side: once per call, after all arguments are set.
    template <typename In>
    void stamp(In& in) {
        in.seal = stamp(describe(in));
    }
    // permission: the other side of this session did not make the call, or it is a replay.
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

}  // namespace cinnabar::files
