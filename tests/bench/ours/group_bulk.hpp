// SPDX-License-Identifier: BSD-3-Clause
// A region of memory on its way to all other members of a group of processes: in chunks that flow down a tree, and
// stored and forwarded whole by each member.
#pragma once

#include "../harness/partner.hpp"

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/hl/node.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::bench {

// This process has rank 0, the others are its children, and end with it. The processes use both cores. Must be made
// while this process has one thread. Throws std::runtime_error (or BadResult). One thread.
class BulkGroup {
  public:
    // `folder`: an empty one, by which the members find each other. `listen`: as Node::listen.
    BulkGroup(Cores cores, const std::string& listen, const std::string& folder, std::size_t receivers,
              std::size_t bytes);

    // Each returns the seconds until all others have all bytes.
    [[nodiscard]] double flow();
    [[nodiscard]] double store_and_forward();
    // Compares all bytes of all members once.
    void check();

  private:
    [[nodiscard]] double broadcast(bool compared);

    std::vector<std::unique_ptr<Partner>> others_;
    std::size_t receivers_;
    std::optional<hl::Node> node_;
    std::optional<group::Group> group_;
    bulk::Region region_;
};

}  // namespace cinnabar::bench
