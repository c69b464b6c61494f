// SPDX-License-Identifier: BSD-3-Clause
// The lease board: the owner sees the pins, and a closed slot cannot be pinned any more.
#include "lease_board.hpp"

#include "support/network.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cinnabar::shm {
namespace {

class Board : public testing::Test {
  protected:
    Board() {
        EXPECT_EQ(board_.open(), Errc::ok);
        EXPECT_EQ(view_.attach(board_.fd(), LeaseBoard::slots_max), Errc::ok);
        const na::Segment segment{bytes_.data(), bytes_.size()};
        memory_ = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
        lease_.memory = memory_.get();
        lease_.offset = 10;
        lease_.bytes = 50;
        lease_.access = na::Access::read;
        lease_.key = 99;
        lease_.slot = 3;
        lease_.generation = 4;
        slot_ = board_.show(lease_, nullptr, 0, {});
    }
    [[nodiscard]] Errc pin(na::LeaseKey key, std::uint64_t offset, std::uint64_t bytes, na::Access want) {
        return view_.pin(slot_, key, offset, bytes, want, pinned_);
    }
    [[nodiscard]] static na::LeaseKey good() { return {3, 4, 99}; }

    std::array<std::byte, 100> bytes_{};
    support::Network network_{support::NetworkKind::self};
    std::unique_ptr<na::Transport> transport_ = network_.open("a", {}).value();
    std::unique_ptr<na::Memory> memory_;
    na::Lease lease_;
    LeaseBoard board_;
    BoardView view_;
    BoardView::Pinned pinned_;
    std::uint32_t slot_ = 0;
};

TEST_F(Board, has_the_place_of_a_lease) {
    ASSERT_EQ(pin(good(), 0, 50, na::Access::read), Errc::ok);
    EXPECT_EQ(pinned_.address, reinterpret_cast<std::uintptr_t>(bytes_.data()) + 10);
    EXPECT_TRUE(board_.pinned(slot_));
    view_.unpin(slot_);
    EXPECT_FALSE(board_.pinned(slot_));
    board_.close(slot_);
    board_.give_back(slot_);
}

TEST_F(Board, refuses_other_accesses_and_leaves_no_pin) {
    EXPECT_EQ(pin(good(), 0, 51, na::Access::read), Errc::too_large);
    EXPECT_EQ(pin(good(), ~std::uint64_t{0}, 2, na::Access::read), Errc::too_large);
    EXPECT_EQ(pin(good(), 0, 1, na::Access::write), Errc::permission);
    EXPECT_EQ(pin({3, 4, 98}, 0, 1, na::Access::read), Errc::permission);
    EXPECT_EQ(pin({2, 4, 99}, 0, 1, na::Access::read), Errc::permission);
    EXPECT_EQ(pin({3, 5, 99}, 0, 1, na::Access::read), Errc::permission);
    EXPECT_EQ(view_.pin(LeaseBoard::slots_max, good(), 0, 1, na::Access::read, pinned_), Errc::permission);
    EXPECT_EQ(view_.pin(slot_ + 1, good(), 0, 1, na::Access::read, pinned_), Errc::permission);
    EXPECT_FALSE(board_.pinned(slot_));
    board_.close(slot_);
    board_.give_back(slot_);
}

TEST_F(Board, a_closed_slot_keeps_its_pins_and_takes_no_new_ones) {
    ASSERT_EQ(pin(good(), 0, 1, na::Access::read), Errc::ok);
    board_.close(slot_);
    EXPECT_EQ(pin(good(), 0, 1, na::Access::read), Errc::permission);
    EXPECT_TRUE(board_.pinned(slot_));
    view_.unpin(slot_);
    EXPECT_FALSE(board_.pinned(slot_));
    board_.give_back(slot_);
    EXPECT_EQ(pin(good(), 0, 1, na::Access::read), Errc::permission);
}

}  // namespace
}  // namespace cinnabar::shm
