// SPDX-License-Identifier: BSD-3-Clause
// Signs the calls of a session. The MAC covers the operation, its arguments, the token, and a number that is valid
// once, so an eavesdropper can neither forge nor replay a call. Each side has one Seals object per session and numbers
// its own calls. Belongs to the loop.
#pragma once

#include "session/protocol.hpp"
#include "session/secret.hpp"

#include <cinnabar/base/result.hpp>

#include <bitset>
#include <cstdint>
#include <optional>

namespace cinnabar::files {

// The replay window: the numbers of calls that have arrived. Calls may be reordered by fewer than `span` numbers.
class SeenNumbers {
  public:
    static constexpr std::uint64_t span = 16'384;
    // Marks a number as used. False: it was used before, is too old to tell, or is 0.
    [[nodiscard]] bool take(std::uint64_t number) noexcept;

  private:
    std::uint64_t highest_ = 0;
    std::bitset<span> seen_;  // of the last `span` numbers up to highest_, indexed modulo `span`
};

// The fields that the MAC covers besides the token and the number. For lent memory it covers only the size, because the
// descriptor is made when the call is encoded.
[[nodiscard]] MacText describe(const HoldIn& in);
[[nodiscard]] MacText describe(const JoinIn& in);
[[nodiscard]] MacText describe(const OpenIn& in);
[[nodiscard]] MacText describe(const WindowIn& in);
[[nodiscard]] MacText describe(const ClaimIn& in);
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
[[nodiscard]] MacText describe(const ReadPackIn& in);
[[nodiscard]] MacText describe(const SumIn& in);
[[nodiscard]] MacText describe(const LookIn& in);
[[nodiscard]] MacText describe(const RemoveIn& in);
[[nodiscard]] MacText describe(const MakeManyIn& in);
[[nodiscard]] MacText describe(const RemoveManyIn& in);
[[nodiscard]] MacText describe(const LendPackIn& in);
[[nodiscard]] MacText describe(const TakePackIn& in);
[[nodiscard]] MacText describe(const PulledIn& in);

class Seals {
  public:
    Seals() = default;
    // `secret`: nullopt without a key; then calls are numbered but not signed.
    Seals(const Token& token, std::optional<Secret> secret) : token_(token), secret_(std::move(secret)) {}

    [[nodiscard]] const Token& token() const noexcept { return token_; }
    // Signs a call of this side: once per call, after all arguments are set.
    template <typename In>
    void stamp(In& in) {
        in.seal = stamp(describe(in));
    }
    // Verifies a received call. permission: the other side of this session did not make it, or it is a replay.
    template <typename In>
    [[nodiscard]] Result<void> check(const In& in) {
        return check(in.seal, describe(in));
    }
    // The answer to `in`: proof to the client that the server of that connection has the session's secret. Zeros
    // without one.
    [[nodiscard]] Proof prove_joined(const JoinIn& in) const;
    [[nodiscard]] bool accepts_joined(const Proof& proof, const JoinIn& in) const;

  private:
    [[nodiscard]] MacText joined_text(const JoinIn& in) const;
    [[nodiscard]] Seal stamp(MacText text);
    [[nodiscard]] Result<void> check(const Seal& seal, MacText text);
    Token token_;
    std::optional<Secret> secret_;
    std::uint64_t next_ = 1;
    SeenNumbers seen_;
};

}  // namespace cinnabar::files
