// SPDX-License-Identifier: BSD-3-Clause
// A mapping of a peer's memory for reading in place: the mapped file, and the lease on the peer's board.
#pragma once

#include "lease_board.hpp"

#include <cinnabar/na/view.hpp>

#include <memory>

namespace cinnabar::shm {

class MappedView final : public na::View {
  public:
    MappedView(ConstBytes bytes, std::shared_ptr<const Segment> file, std::shared_ptr<const Segment> board,
               std::uint32_t slot, const na::LeaseKey& key) noexcept
        : View(bytes), file_(std::move(file)), board_(std::move(board)), slot_(slot), key_(key) {}
    [[nodiscard]] bool valid() const noexcept override { return BoardView::stands(*board_, slot_, key_); }

  private:
    const std::shared_ptr<const Segment> file_;
    const std::shared_ptr<const Segment> board_;
    const std::uint32_t slot_;
    const na::LeaseKey key_;
};

}  // namespace cinnabar::shm
