// SPDX-License-Identifier: BSD-3-Clause
#include "session/signed_calls.hpp"

namespace cinnabar::files {
namespace {

template <typename R>
MacText operation(const R& rpc) {
    MacText text("cinnabar save 1 call");
    text.add_text(rpc.name().text);
    return text;
}

void add(MacText& text, const Attributes& attributes) {
    text.add(attributes.mode).add(static_cast<std::uint64_t>(attributes.modified_s)).add(attributes.modified_ns);
    text.add(attributes.extended.size());
    for (const auto& extended : attributes.extended) text.add_text(extended.name).add_text(extended.value);
}

void add(MacText& text, const std::vector<std::uint64_t>& blocks) {
    text.add(blocks.size());
    for (const auto checksum : blocks) text.add(checksum);
}

void add(MacText& text, const ExtendedKinds& kinds) { text.add(kinds.user ? 1 : 0).add(kinds.acls ? 1 : 0); }

void add(MacText& text, const LinkLimit& links) { text.add(links.limited ? 1 : 0).add_text(links.below); }

// What identifies the connection that joins.
void add_connection(MacText& text, const JoinIn& in) {
    const Challenge& challenge = in.challenge;
    text.add(in.nonce).add(challenge.nonce).add(challenge.issued_us).add(challenge.tag);
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

MacText describe(const HoldIn& in) { return operation(hold_rpc).add(in.provider); }

MacText describe(const JoinIn& in) {
    MacText text = operation(join_rpc);
    add_connection(text, in);
    return text;
}

MacText describe(const OpenIn& in) {
    MacText text = operation(open_rpc);
    add(text.add_text(in.name).add(in.bytes), in.attributes);
    text.add(in.exact ? 1 : 0).add(in.sparse ? 1 : 0).add(in.replace ? 1 : 0).add(in.checked ? 1 : 0);
    return text.add(in.compares ? 1 : 0).add(in.source).add(in.rereads ? 1 : 0);
}

MacText describe(const WindowIn& in) {
    MacText text = operation(window_rpc).add(in.file).add(in.offset);
    add(text.add(in.again ? 1 : 0).add(in.hole ? 1 : 0).add(in.checksum), in.blocks);
    return text.add(in.so_far ? 1 : 0).add(in.so_far.value_or(0)).add(in.window.size());
}

MacText describe(const ClaimIn& in) {
    MacText text = operation(claim_rpc).add(in.file).add(in.offset);
    add(text, in.checksums);
    return text;
}

MacText describe(const PushIn& in) { return operation(push_rpc).add(in.file).add(in.offset).add(in.again ? 1 : 0); }

MacText describe(const FillIn& in) {
    return operation(fill_rpc).add(in.file).add(in.offset).add(in.notice).add(in.buffer.size());
}

MacText describe(const CommitIn& in) {
    return operation(commit_rpc).add(in.file).add(in.checksum).add(in.synced ? 1 : 0);
}

MacText describe(const AskIn& in) {
    MacText text = operation(ask_rpc);
    add(text.add_text(in.name), in.extended);
    return text;
}

MacText describe(const ReadIn& in) {
    MacText text = operation(read_rpc).add(in.file).add(in.offset);
    add(text.add(in.again ? 1 : 0).add(in.offered ? 1 : 0).add(in.checksum), in.blocks);
    return text.add(in.window.size());
}

MacText describe(const FinishIn& in) { return operation(finish_rpc).add(in.file); }

MacText describe(const LendIn& in) {
    MacText text = operation(lend_rpc).add(in.file).add(in.offset).add(in.bytes);
    return text.add(in.offered ? 1 : 0).add(in.compares ? 1 : 0);
}

MacText describe(const TakeIn& in) {
    MacText text = operation(take_rpc).add(in.file).add(in.offset).add(in.checksum);
    add(text, in.blocks);
    return text.add(in.window.size());
}

MacText describe(const AbortIn& in) { return operation(abort_rpc).add(in.file).add(in.keep ? 1 : 0); }

MacText describe(const MakeIn& in) {
    MacText text = operation(make_rpc);
    text.add(static_cast<std::uint64_t>(in.kind)).add_text(in.name).add_text(in.target);
    add(text, in.attributes);
    return text.add(in.replace ? 1 : 0);
}

MacText describe(const ListIn& in) {
    MacText text = operation(list_rpc);
    add(text.add_text(in.name).add(in.cursor), in.extended);
    add(text, in.links);
    return text;
}

MacText describe(const RemainsIn& in) { return operation(remains_rpc).add(in.remove ? 1 : 0).add_text(in.name); }

MacText describe(const PackIn& in) {
    MacText text = operation(pack_rpc).add(in.files.size());
    for (const auto& file : in.files) add(text.add_text(file.name).add(file.bytes).add(file.checksum), file.attributes);
    text.add(in.exact ? 1 : 0).add(in.replace ? 1 : 0).add(in.checked ? 1 : 0);
    return text.add(static_cast<std::uint64_t>(in.sync)).add(in.window.size()).add(in.pulled);
}

MacText describe(const ReadPackIn& in) {
    MacText text = operation(read_pack_rpc).add(in.files.size());
    for (const auto& file : in.files) text.add_text(file.name).add(file.bytes);
    add(text, in.extended);
    return text.add(in.window.size());
}

MacText describe(const SumIn& in) { return operation(sum_rpc).add_text(in.name).add(in.file); }

MacText describe(const LookIn& in) {
    MacText text = operation(look_rpc);
    add(text.add_text(in.name), in.extended);
    return text;
}

MacText describe(const RemoveIn& in) {
    MacText text = operation(remove_rpc);
    add(text.add_text(in.name), in.links);
    return text;
}

MacText describe(const MakeManyIn& in) {
    MacText text = operation(make_many_rpc).add(in.entries.size());
    for (const auto& entry : in.entries) {
        text.add(static_cast<std::uint64_t>(entry.kind)).add_text(entry.name).add_text(entry.target);
        add(text, entry.attributes);
        text.add(entry.replace ? 1 : 0);
    }
    return text;
}

MacText describe(const RemoveManyIn& in) {
    MacText text = operation(remove_many_rpc).add(in.names.size());
    for (const auto& name : in.names) text.add_text(name);
    add(text, in.links);
    return text;
}

MacText describe(const LendPackIn& in) {
    MacText text = operation(lend_pack_rpc).add(in.pack).add(in.files.size());
    for (const auto& file : in.files) text.add_text(file.name).add(file.bytes);
    add(text, in.extended);
    return text.add(in.text_bytes);
}

MacText describe(const TakePackIn& in) {
    MacText text = operation(take_pack_rpc).add(in.pack).add(in.files.size());
    for (const auto& file : in.files) {
        text.add(static_cast<std::uint64_t>(file.outcome.code)).add_text(file.outcome.text).add(file.checksum);
        add(text, file.attributes);
        text.add(file.sparse ? 1 : 0);
    }
    return text.add(in.window.size());
}

MacText describe(const PulledIn& in) { return operation(pulled_rpc).add(in.pulled); }

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

MacText Seals::joined_text(const JoinIn& in) const {
    MacText text("cinnabar save 1 joined");
    add_connection(text, in);
    return std::move(text.add(token_));
}

Proof Seals::prove_joined(const JoinIn& in) const { return secret_ ? secret_->sign(joined_text(in)) : Proof{}; }

bool Seals::accepts_joined(const Proof& proof, const JoinIn& in) const {
    return !secret_ || secret_->accepts(proof, joined_text(in));
}

}  // namespace cinnabar::files
