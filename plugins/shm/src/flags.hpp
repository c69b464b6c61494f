// SPDX-License-Identifier: BSD-3-Clause
// Flags: one bit for each session of a context, in shared memory. The peer raises the bit when it has written into the
// ring of its session. So a context with many sessions finds those that have records without looking at each ring.
// docs/wire-format-shm.md, "Flags"; decision 0120.
//
// 64 flags are a group: one word, in its own cache line. The first word of the memory has a bit for each group, which
// the peer sets after it has raised a flag of the group, so if that word is 0, no flag is raised. Before this side
// reads a ring, it clears the bit of the group, and then the flag; so a record that is written meanwhile raises the
// flag again.
//
// The shared memory is untrusted: a flag is only a hint to look at a ring. If another process clears a flag, the record
// is still found, because each ring is also looked at in turn (hot_sessions.hpp).
#pragma once

#include "segment.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cinnabar::shm {

namespace detail {

inline constexpr unsigned flags_per_group = 64;

inline std::atomic<std::uint64_t>& groups_at(std::byte* flags) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(flags);
}
inline std::atomic<std::uint64_t>& group_at(std::byte* flags, std::uint32_t group) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(flags + std::size_t{64} * (group + 1));
}

// Sequentially consistent: if this call finds the group's bit set already, whoever clears that bit later sees the flag.
inline void raise_flag(std::byte* flags, std::uint32_t flag) noexcept {
    const std::uint32_t group = flag / flags_per_group;
    const std::uint64_t of_group = std::uint64_t{1} << group;
    group_at(flags, group).fetch_or(std::uint64_t{1} << flag % flags_per_group, std::memory_order_seq_cst);
    auto& groups = groups_at(flags);
    if ((groups.load(std::memory_order_seq_cst) & of_group) == 0) {
        groups.fetch_or(of_group, std::memory_order_seq_cst);
    }
}

}  // namespace detail

// The flags of this side's context, which its peers raise. Owner of the context only.
class Flags {
  public:
    static constexpr std::uint32_t groups_max = 64;
    static constexpr std::uint32_t count_max = groups_max * detail::flags_per_group;
    static constexpr std::size_t bytes = 8192;
    static constexpr std::uint32_t none = 0xffff'ffff;
    // The maximum number of flags that one call of lower() lowers; the flags of the last group may exceed it.
    static constexpr unsigned lowered_max = 64;

    Flags() = default;
    Flags(const Flags&) = delete;
    Flags& operator=(const Flags&) = delete;

    // Takes the lowest free flag. The peer that had the flag before may still raise it. The first call creates the
    // shared memory. none: all flags are in use, or there is no memory or descriptor left.
    [[nodiscard]] std::uint32_t take() noexcept;
    void give_back(std::uint32_t flag) noexcept;
    // To be passed to the peers; -1 before the first take().
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }

    // Whether a flag may be raised.
    [[nodiscard]] bool any() const noexcept {
        return memory_ && detail::groups_at(memory_.base()).load(std::memory_order_relaxed) != 0;
    }
    // Requires: the flag is taken.
    void raise(std::uint32_t flag) noexcept { detail::raise_flag(memory_.base(), flag); }
    // Lowers raised flags, and calls visit(flag) for each. A flag that visit() raises again is left for the next call.
    // One call lowers about lowered_max flags, and the next call begins with the next group, so no group has to wait
    // for ever. Requires: any().
    template <typename Visit>
    void lower(Visit&& visit) noexcept {
        auto& groups = detail::groups_at(memory_.base());
        std::uint64_t left = groups.exchange(0, std::memory_order_seq_cst);
        unsigned lowered = 0;
        while (left != 0 && lowered < lowered_max) {
            const std::uint64_t in_turn = std::rotr(left, static_cast<int>(turn_));
            const auto group = (turn_ + static_cast<std::uint32_t>(std::countr_zero(in_turn))) % groups_max;
            left &= ~(std::uint64_t{1} << group);
            turn_ = (group + 1) % groups_max;
            auto raised = detail::group_at(memory_.base(), group).exchange(0, std::memory_order_seq_cst);
            for (; raised != 0; raised &= raised - 1, ++lowered) {
                visit(group * detail::flags_per_group + static_cast<std::uint32_t>(std::countr_zero(raised)));
            }
        }
        if (left != 0) groups.fetch_or(left, std::memory_order_seq_cst);
    }

  private:
    Segment memory_;
    UniqueFd fd_;
    std::uint32_t turn_ = 0;  // the group at which the next lower() begins
    std::array<std::uint64_t, groups_max> taken_{};
};

// A flag that was taken for one peer; moves with its session.
class OwnFlag {
  public:
    OwnFlag() = default;
    // Empty if no flag is free.
    explicit OwnFlag(Flags& from) noexcept : flag_(from.take()) {
        if (flag_ != Flags::none) flags_ = &from;
    }
    OwnFlag(OwnFlag&& other) noexcept : flags_(std::exchange(other.flags_, nullptr)), flag_(other.flag_) {}
    OwnFlag& operator=(OwnFlag&& other) noexcept {
        if (this == &other) return *this;
        reset();
        flags_ = std::exchange(other.flags_, nullptr);
        flag_ = other.flag_;
        return *this;
    }
    ~OwnFlag() { reset(); }

    // 1 + the flag, as a greeting names it; 0: none.
    [[nodiscard]] std::uint32_t term() const noexcept { return flags_ ? flag_ + 1 : 0; }
    [[nodiscard]] int fd() const noexcept { return flags_ ? flags_->fd() : -1; }
    void reset() noexcept {
        if (flags_) std::exchange(flags_, nullptr)->give_back(flag_);
    }

  private:
    Flags* flags_ = nullptr;  // null: empty
    std::uint32_t flag_ = Flags::none;
};

// The flag of a session in the memory of the peer. One thread at a time.
class PeerFlag {
  public:
    // `term`: as Terms::flag, not 0. protocol, out_of_memory: as Segment::attach.
    [[nodiscard]] Errc attach(int fd, std::uint32_t term) noexcept {
        flag_ = term - 1;
        return Segment::attach(fd, Flags::bytes, memory_);
    }
    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }
    void raise() noexcept { detail::raise_flag(memory_.base(), flag_); }

  private:
    Segment memory_;
    std::uint32_t flag_ = 0;
};

}  // namespace cinnabar::shm
