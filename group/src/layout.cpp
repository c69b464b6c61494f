// SPDX-License-Identifier: BSD-3-Clause
#include "tree.hpp"

#include <cinnabar/group/layout.hpp>

namespace cinnabar::group {
namespace {

void place(std::span<const Rank> ranks, Shape shape, Rank above, unsigned depth, std::vector<Placed>& all) {
    for (const Branch& branch : branches_of(ranks, shape)) {
        all.push_back({branch.child, above, depth});
        place(branch.below, shape, branch.child, depth + 1, all);
    }
}

}  // namespace

std::vector<Placed> layout_of(const View& view, Tree tree, unsigned fanout, std::size_t bytes) {
    std::vector<Placed> all;
    const auto ranks = view.present();
    place(ranks, shape_for(tree, fanout, ranks.size(), bytes), no_rank, 0, all);
    return all;
}

}  // namespace cinnabar::group
