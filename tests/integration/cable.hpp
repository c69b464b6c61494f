// SPDX-License-Identifier: BSD-3-Clause
// A network cable that can be unplugged at either end: a veth pair between two network namespaces of the test, or the
// cable of the virtual machine of tests/vm.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace cinnabar::test {

class Cable {
  public:
    enum class End { near, far };

    // Null, with the reason, if this process lacks the permission (root) or the kernel does not support it.
    [[nodiscard]] static std::unique_ptr<Cable> lay(std::string& why_not);
    Cable() = default;
    virtual ~Cable() = default;
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;

    // Addresses to listen on, with port 0. The calling thread dials from `near_address`.
    [[nodiscard]] virtual std::string near_address() const = 0;
    [[nodiscard]] virtual std::string far_address() const = 0;
    // Runs `f` on this thread, at the far end.
    virtual void at_the_far_end(const std::function<void()>& f) const = 0;
    // Packets sent at an unplugged end are lost. Both ends keep their addresses.
    virtual void unplug(End end) = 0;
    virtual void plug_in(End end) = 0;
    // Whether unplugging an end also removes its route; otherwise its packets are lost silently.
    [[nodiscard]] virtual bool way_goes_with_plug() const = 0;
    // Takes the interface down, like `ip link set down`, for the rest of the test. False if unplugging already does the
    // same.
    [[nodiscard]] virtual bool take_down(End end) = 0;
};

}  // namespace cinnabar::test
