// SPDX-License-Identifier: BSD-3-Clause
// Two network namespaces of the test's own, and a veth pair between them. The thread that lays it is at the near end
// until the cable goes; what it starts at the far end is there for good. Nothing of it is seen outside, and the kernel
// removes it all with the last process that is in it.
#pragma once

#include "cable.hpp"

#include <cinnabar/base/unique_fd.hpp>

namespace cinnabar::test {

class NamespaceCable final : public Cable {
  public:
    // Null with errno.
    [[nodiscard]] static std::unique_ptr<Cable> lay();
    ~NamespaceCable() override;

    [[nodiscard]] std::string near_place() const override { return "tcp://"; }
    [[nodiscard]] std::string far_place() const override { return far_uri; }
    void at_the_far_end(const std::function<void()>& f) const override;
    // The interface of that end goes down, and the other end has no carrier.
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

    UniqueFd home_;  // the namespaces
    UniqueFd near_;
    UniqueFd far_;
    UniqueFd near_socket_;  // in them, to give orders on
    UniqueFd far_socket_;
};

}  // namespace cinnabar::test
