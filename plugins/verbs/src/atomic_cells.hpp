// SPDX-License-Identifier: BSD-3-Clause
// The memory into which the device writes the old values of atomic operations. Owner of the context only.
#pragma once

#include "pinned.hpp"

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace cinnabar::verbs {

class AtomicCells {
  public:
    explicit AtomicCells(const Device& device) noexcept : device_(device) {}

    // out_of_memory, with a hint. Must be called first.
    [[nodiscard]] Result<void> open() {
        CINNABAR_TRY(memory_, Pinned::make(device_, (cells + 1) * sizeof(std::uint64_t)));
        CINNABAR_TRY(beacon_, Pinned::make(device_, sizeof(std::uint64_t), IBV_ACCESS_REMOTE_READ));
        for (std::uint32_t i = cells; i > 0; --i) free_.push_back(i - 1);
        return {};
    }
    // False: all are taken.
    [[nodiscard]] bool take(std::uint32_t& cell) noexcept {
        if (free_.empty()) return false;
        cell = free_.back();
        free_.pop_back();
        return true;
    }
    // Frees a cell; returns its value.
    std::uint64_t give_back(std::uint32_t cell) noexcept {
        free_.push_back(cell);
        std::uint64_t value = 0;
        std::memcpy(&value, memory_.bytes().data() + cell * sizeof value, sizeof value);
        return value;
    }
    [[nodiscard]] ibv_sge piece(std::uint32_t cell) const noexcept {
        const std::byte* const at = memory_.bytes().data() + cell * sizeof(std::uint64_t);
        return {reinterpret_cast<std::uintptr_t>(at), sizeof(std::uint64_t), memory_.lkey()};
    }
    // A cell whose value is never used: for reads of remote memory of which only the completion matters.
    [[nodiscard]] ibv_sge bin() const noexcept { return piece(cells); }
    // The beacon: a word that every peer may read.
    [[nodiscard]] const Pinned& beacon() const noexcept { return beacon_; }

  private:
    static constexpr std::uint32_t cells = 512;

    const Device& device_;
    Pinned memory_;
    Pinned beacon_;
    std::vector<std::uint32_t> free_;
};

}  // namespace cinnabar::verbs
