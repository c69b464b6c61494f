// SPDX-License-Identifier: BSD-3-Clause
#include "token_memory.hpp"

#include <algorithm>

namespace cinnabar::seeds {

void Findings::add(std::string_view what) {
    static constexpr unsigned told_max = 8;
    if (++count_ > told_max) return;
    text_.append(what);
    text_ += '\n';
}

void fill_version(std::span<Word> words, Word version, std::size_t first) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = version_word(version, first + i);
}

std::string other_than(std::span<const Word> words, Word version, std::size_t first) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == version_word(version, first + i)) continue;
        return "word " + std::to_string(first + i) + " of version " + std::to_string(version) + " is word " +
               std::to_string(words[i] & 0xffffff) + " of version " + std::to_string(words[i] >> 24);
    }
    return {};
}

bool all_words_are(std::span<const Word> words, Word value) noexcept {
    return std::ranges::all_of(words, [value](Word word) { return word == value; });
}

std::size_t Owned::words_of(Use kind) noexcept {
    switch (kind) {
        case Use::versions:
            return version_words;
        case Use::board:
            return hosts_max * blocks * block_words;
        case Use::counters:
            return adders + swapped;
    }
    return 0;
}

Owned::Owned(Use its_use, Word first_version) : use(its_use), version(first_version), words(words_of(its_use)) {
    if (use == Use::versions) fill_version(words, version, 0);
}

bool Owned::fits(std::span<const Word> found, const Block& model) noexcept {
    return std::ranges::all_of(found, [&](Word word) { return std::ranges::find(model.may, word) != model.may.end(); });
}

void Owned::check(Findings& findings) const {
    if (use == Use::versions) {
        const std::string other = other_than(words, version, 0);
        findings.expect(other.empty(), "written after it was renewed: " + other);
    }
    if (use == Use::board) {
        for (std::size_t host = 0; host < hosts_max; ++host) {
            for (std::size_t i = 0; i < blocks; ++i) {
                const auto there = std::span(words).subspan(first_of(host, i), block_words);
                findings.expect(fits(there, board[host][i]), "a block has other bytes than were written to it");
            }
        }
    }
    if (use == Use::counters) {
        for (std::size_t i = 0; i < adders; ++i) {
            const Adder& adder = added[i];
            findings.expect(words[i] >= adder.succeeded, "an addition that succeeded was not counted");
            findings.expect(words[i] <= adder.started - adder.without_effect, "an addition was counted twice");
        }
        for (std::size_t i = 0; i < swapped; ++i) {
            const Word word = words[adders + i];
            findings.expect(swaps[i].given.contains(word), "a word has a value that nobody gave it");
            findings.expect(!swaps[i].replaced.contains(word), "a word has a value that was replaced");
        }
    }
}

void Owned::end() noexcept {
    over = true;
    std::ranges::fill(words, ended_word);
}

}  // namespace cinnabar::seeds
