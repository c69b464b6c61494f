// SPDX-License-Identifier: BSD-3-Clause
// Two network namespaces of the test and a veth pair between them. The thread that creates the cable is in the near
// namespace until the cable is destroyed; processes started at the far end stay there. Nothing is visible outside, and
// the kernel removes everything together with the last process in the namespaces.
#pragma once

#include "cable.hpp"

#include <cinnabar/base/unique_fd.hpp>

namespace cinnabar::test {

class NamespaceCable final : public Cable {
  public:
    // Null on failure, with errno.
    [[nodiscard]] static std::unique_ptr<Cable> lay();
    ~NamespaceCable() override;

    [[nodiscard]] std::string near_address() const override { return "tcp://"; }
    [[nodiscard]] std::string far_address() const override { return far_uri; }
    void at_the_far_end(const std::function<void()>& f) const override;
    // Takes the interface of that end down, so that the other end loses its carrier.
    void unplug(End end) override { set_up(end, false); }
    void plug_in(End end) override { set_up(end, true); }
    [[nodiscard]] bool way_goes_with_plug() const override { return true; }
    [[nodiscard]] bool take_down(End) override { return false; }

  private:
    static constexpr const char* near_host = "10.77.0.1";
    static constexpr const char* far_host = "10.77.0.2";
    static constexpr const char* far_uri = "tcp://10.77.0.2:0";

    NamespaceCable() = default;
    [[nodiscard]] bool lay_it();
    [[nodiscard]] bool make_pair();
    void set_up(End end, bool up) const;
    [[nodiscard]] bool set_address(End end) const;

    UniqueFd home_;  // the original, the near and the far namespace
    UniqueFd near_;
    UniqueFd far_;
    UniqueFd near_socket_;  // netlink sockets in the two namespaces
    UniqueFd far_socket_;
};

}  // namespace cinnabar::test
