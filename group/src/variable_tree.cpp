// SPDX-License-Identifier: BSD-3-Clause
#include "variable_tree.hpp"

#include "tree.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

std::uint64_t weight_of(std::uint64_t key, Rank rank) { return Random(key ^ (std::uint64_t{rank} << 32)).next(); }

Reign reign_of(std::uint64_t key, const View& view) {
    Reign reign;
    std::uint64_t largest = 0;
    for (const Rank rank : view.present()) {
        const std::uint64_t weight = weight_of(key, rank);
        if (reign.root != no_rank && weight <= largest) continue;
        largest = weight;
        reign.root = rank;
    }
    for (const Member& member : view.members()) {
        if (member.rank == reign.root) reign.incarnation = member.incarnation;
        if (weight_of(key, member.rank) > largest) reign.lives_above += member.incarnation;
    }
    return reign;
}

// Walks down the tree to `self`, and sets its parent and its depth.
void descend(TreePosition& position, std::vector<Rank> below, Shape shape, Rank self) {
    position.parent = position.reign.root;
    for (position.depth = 1;; ++position.depth) {
        bool found = false;
        for (Branch& branch : branches_of(below, shape)) {
            if (branch.child == self) return;
            if (std::find(branch.below.begin(), branch.below.end(), self) == branch.below.end()) continue;
            position.parent = branch.child;
            below = std::move(branch.below);
            found = true;
            break;
        }
        if (!found) return;
    }
}

}  // namespace

TreePosition position_of(std::string_view key, const View& view, Rank self, std::uint64_t process) {
    TreePosition position;
    position.reign = reign_of(rpc::rpc_id(key), view);
    const auto present = view.present();
    if (position.reign.root == self && self != no_rank) return position;
    position.depth = TreePosition::outside;
    if (present.empty()) return position;
    if (!std::binary_search(present.begin(), present.end(), self)) {
        position.parent = present[process % present.size()];
        return position;
    }
    std::vector<Rank> below(present.begin(), present.end());
    const auto root = std::lower_bound(below.begin(), below.end(), position.reign.root);
    std::rotate(below.begin(), below.erase(root), below.end());
    descend(position, std::move(below), shape_for(Tree::automatic, 0, present.size(), 0), self);
    return position;
}

}  // namespace cinnabar::group
