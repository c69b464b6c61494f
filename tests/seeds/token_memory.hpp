// SPDX-License-Identifier: BSD-3-Clause
// Memory that the processes of a run share by tokens, and what it may contain at any moment.
#pragma once

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/share.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::seeds {

using Word = std::uint64_t;
using Words = std::vector<Word>;

// What memory is filled with once nobody may access it any more.
inline constexpr Word ended_word = 0x5a5a5a5a5a5a5a5a;

// All that a run has found to be wrong.
class Findings {
  public:
    void add(std::string_view what);
    void expect(bool right, std::string_view what) {
        if (!right) add(what);
    }
    [[nodiscard]] bool any() const noexcept { return count_ != 0; }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

  private:
    std::string text_;
    unsigned count_ = 0;
};

// The word at `index` of memory that has this version of its contents.
[[nodiscard]] constexpr Word version_word(Word version, std::size_t index) noexcept { return version << 24 | index; }
void fill_version(std::span<Word> words, Word version, std::size_t first) noexcept;
// Empty: the words are those of the version, from `first` on. Otherwise what they are instead.
[[nodiscard]] std::string other_than(std::span<const Word> words, Word version, std::size_t first);
[[nodiscard]] bool all_words_are(std::span<const Word> words, Word value) noexcept;

// Memory of one life of a process. It does not move until the run is over.
struct Owned {
    enum class Use : std::uint8_t {
        versions,  // all of it has one version, which its owner renews
        board,     // each process writes stamps to blocks of its own
        counters,  // words to which all processes add, and which they swap
    };
    static constexpr std::size_t uses = 3;
    static constexpr std::size_t hosts_max = 5;
    static constexpr std::size_t version_words = 4'000;
    static constexpr std::size_t block_words = 96;
    static constexpr std::size_t blocks = 12;  // of each process
    static constexpr std::size_t adders = 3;
    static constexpr std::size_t swapped = 2;

    // A block of the board: all its words are one of these stamps. If a write has failed, nobody can tell when its
    // bytes stop to arrive, so from then on any of them may be there.
    struct Block {
        std::vector<Word> may{0};
        bool uncertain = false;
    };
    struct Adder {
        std::uint64_t started = 0;
        std::uint64_t succeeded = 0;
        std::uint64_t without_effect = 0;
        std::set<Word> before;  // the results
    };
    // Every value is given once, so it can be replaced only once.
    struct Swapped {
        std::set<Word> given{0};
        std::set<Word> replaced;
    };

    Owned(Use its_use, Word first_version);
    [[nodiscard]] static std::size_t words_of(Use kind) noexcept;
    [[nodiscard]] std::size_t first_of(std::size_t host, std::size_t number) const noexcept {
        return (host * blocks + number) * block_words;
    }
    [[nodiscard]] std::span<Word> block(std::size_t host, std::size_t number) noexcept {
        return std::span(words).subspan(first_of(host, number), block_words);
    }
    // Whether these words are what a block may contain; if nothing is written to it, all are the same.
    [[nodiscard]] static bool fits(std::span<const Word> found, const Block& model) noexcept;
    // Checks all of it. Not for memory that has ended.
    void check(Findings& findings) const;
    // Nobody may access it any more.
    void end() noexcept;

    const Use use;
    std::size_t owner_host = 0;
    bool ends = false;  // asked to be withdrawn
    bool over = false;
    Word version;
    Words words;
    hl::Shared<Word> shared;
    std::array<std::array<Block, blocks>, hosts_max> board;
    std::array<bool, hosts_max> in_use{};  // the blocks of a process, by an operation of it
    std::array<Adder, adders> added;
    std::array<Swapped, swapped> swaps;
};

}  // namespace cinnabar::seeds
