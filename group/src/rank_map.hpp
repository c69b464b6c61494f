// SPDX-License-Identifier: BSD-3-Clause
// RankMap: values by rank, in blocks of eight ranks that follow each other. If nearly all ranks have a value, a RankMap
// takes hardly more memory than an array; if few ranks have one, it takes at most the memory of eight values for each
// of them. A reference to a value is valid until that value is erased. Not thread-safe.
#pragma once

#include <cinnabar/group/member.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::group {

template <class T>
class RankMap {
  public:
    // Null if the rank has no value.
    [[nodiscard]] const T* find(Rank rank) const noexcept {
        const std::size_t at = place_of(number_of(rank));
        if (at == blocks_.size() || blocks_[at].number != number_of(rank)) return nullptr;
        return (blocks_[at].used & bit_of(rank)) != 0 ? &(*blocks_[at].values)[rank % block_ranks] : nullptr;
    }
    [[nodiscard]] T* find(Rank rank) noexcept { return const_cast<T*>(std::as_const(*this).find(rank)); }
    // The value of that rank, which is made if there is none.
    [[nodiscard]] T& operator[](Rank rank) {
        const std::size_t at = place_of(number_of(rank));
        if (at == blocks_.size() || blocks_[at].number != number_of(rank))
            blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at), Block(number_of(rank)));
        Block& block = blocks_[at];
        if ((block.used & bit_of(rank)) == 0) ++size_;
        block.used |= bit_of(rank);
        return (*block.values)[rank % block_ranks];
    }
    void erase(Rank rank) noexcept {
        T* const value = find(rank);
        if (!value) return;
        *value = T{};
        --size_;
        const auto block = blocks_.begin() + static_cast<std::ptrdiff_t>(place_of(number_of(rank)));
        block->used &= ~bit_of(rank);
        if (block->used == 0) blocks_.erase(block);
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

  private:
    static constexpr Rank block_ranks = 8;
    using Values = std::array<T, block_ranks>;
    struct Block {
        explicit Block(Rank its_number) : number(its_number), values(std::make_unique<Values>()) {}
        Block(const Block& other)
            : number(other.number), used(other.used), values(std::make_unique<Values>(*other.values)) {}
        Block(Block&&) noexcept = default;
        Block& operator=(const Block&) = delete;
        Block& operator=(Block&&) noexcept = default;
        ~Block() = default;

        Rank number;
        std::uint32_t used = 0;  // a bit for each rank that has a value
        std::unique_ptr<Values> values;
    };
    static constexpr Rank number_of(Rank rank) noexcept { return rank / block_ranks; }
    static constexpr std::uint32_t bit_of(Rank rank) noexcept { return 1u << (rank % block_ranks); }
    // Where the block with that number is, or belongs.
    [[nodiscard]] std::size_t place_of(Rank number) const noexcept {
        if (number < blocks_.size() && blocks_[number].number == number) return number;  // there is one for each before
        const auto at = std::ranges::lower_bound(blocks_, number, {}, &Block::number);
        return static_cast<std::size_t>(at - blocks_.begin());
    }

    std::vector<Block> blocks_;  // with ascending numbers
    std::size_t size_ = 0;
};

}  // namespace cinnabar::group
