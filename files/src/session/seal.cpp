// SPDX-License-Identifier: BSD-3-Clause
#include "session/seal.hpp"

namespace cinnabar::files {
namespace {

template <typename R>
MacText operation(const R& rpc) {
    MacText text("cinnabar save 1 call");
    text.add_text(rpc.name().text);
    return text;
}

}  // namespace

bool SeenNumbers::take(std::uint64_t number) noexcept {
    if (number == 0) return false;
    if (number > highest_) {
        if (number - highest_ >= span) {
            seen_.reset();
        } else {
            for (std::uint64_t skipped = highest_ + 1; skipped < number; ++skipped) seen_.reset(skipped % span);
        }
        highest_ = number;
    } else if (highest_ - number >= span || seen_.test(number % span)) {
        return false;
    }
    seen_.set(number % span);
    return true;
}

MacText describe(const HoldIn&) { return operation(hold_rpc); }

MacText describe(const OpenIn& in) {
    return operation(open_rpc)
        .add_text(in.name)
        .add(in.bytes)
        .add(in.mode)
        .add(in.replace ? 1 : 0)
        .add(in.checked ? 1 : 0);
}

MacText describe(const WindowIn& in) { return operation(window_rpc).add(in.file).add(in.offset).add(in.window.size()); }

MacText describe(const PushIn& in) { return operation(push_rpc).add(in.file).add(in.offset); }

MacText describe(const FillIn& in) {
    return operation(fill_rpc).add(in.file).add(in.offset).add(in.notice).add(in.buffer.size());
}

MacText describe(const CommitIn& in) { return operation(commit_rpc).add(in.file).add(in.checksum); }

MacText describe(const AskIn& in) { return operation(ask_rpc).add_text(in.name); }

MacText describe(const ReadIn& in) { return operation(read_rpc).add(in.file).add(in.offset).add(in.window.size()); }

MacText describe(const FinishIn& in) { return operation(finish_rpc).add(in.file); }

MacText describe(const AbortIn& in) { return operation(abort_rpc).add(in.file); }

Seal Seals::stamp(MacText text) {
    Seal seal{token_, next_++, {}};
    if (secret_) seal.mac = secret_->sign(text.add(seal.token).add(seal.number));
    return seal;
}

Result<void> Seals::check(const Seal& seal, MacText text) {
    const Error refused{Errc::permission, "the call was not made in this session, or it was made before"};
    if (seal.token != token_) return refused;
    if (secret_ && !secret_->accepts(seal.mac, text.add(seal.token).add(seal.number))) return refused;
    if (!seen_.take(seal.number)) return refused;
    return {};
}

}  // namespace cinnabar::files
