// SPDX-License-Identifier: BSD-3-Clause
#include "world_state.hpp"

#include <cinnabar/base/parse_number.hpp>

#include <map>
#include <mutex>

namespace cinnabar::sim {
namespace {

// The worlds that addresses name by number. A world lives as long as one of its transports, or a World that refers to
// that world.
class Worlds {
  public:
    std::shared_ptr<WorldState> find_or_make(std::uint64_t number, const WorldOptions& options) {
        const std::lock_guard lock(mutex_);
        std::weak_ptr<WorldState>& entry = worlds_[number];
        std::shared_ptr<WorldState> world = entry.lock();
        if (!world) entry = world = std::make_shared<WorldState>(options);
        return world;
    }

  private:
    std::mutex mutex_;
    std::map<std::uint64_t, std::weak_ptr<WorldState>> worlds_;
};

Worlds& worlds() {
    static auto* all = new Worlds;  // never destroyed, because static transports may use it
    return *all;
}

Result<std::uint64_t> number_of(const na::Uri& uri, std::string_view option, std::uint64_t otherwise) {
    const std::string_view text = uri.option(option);
    if (text.empty()) return otherwise;
    const auto number = parse_number<std::uint64_t>(text);
    if (!number) return Error(Errc::bad_address, "world and seed must be numbers", uri.to_string());
    return *number;
}

Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri, const na::TransportOptions& options) {
    WorldOptions world;
    CINNABAR_TRY(const std::uint64_t number, number_of(uri, "world", 0));
    CINNABAR_TRY(world.seed, number_of(uri, "seed", options.seed));
    const std::string_view profile = uri.option("profile");
    if (profile == "rdma_strict") {
        world.profile = Profile::rdma_strict;
    } else if (!profile.empty() && profile != "friendly") {
        return Error(Errc::bad_address, "profile must be friendly or rdma_strict", uri.to_string());
    }
    return open_host(worlds().find_or_make(number, world), uri.host, options);
}

}  // namespace

std::shared_ptr<World> World::numbered(std::uint64_t number, const WorldOptions& options) {
    return std::shared_ptr<World>(new World(worlds().find_or_make(number, options)));
}

const na::PluginInfo plugin_info{na::plugin_abi, "sim", "a simulated network for tests, from one seed", &open,
                                 "world, seed, profile"};

}  // namespace cinnabar::sim

CINNABAR_PLUGIN(cinnabar::sim::plugin_info)
