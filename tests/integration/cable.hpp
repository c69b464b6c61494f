// SPDX-License-Identifier: BSD-3-Clause
// A cable that can be unplugged at either end: laid between two network namespaces of the test's own, or, where the
// tests run in the machine of tests/vm, the one that is there.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace cinnabar::test {

class Cable {
  public:
    enum class End { near, far };

    // Null, and why, where this process may not do that (it needs root), or the kernel cannot.
    [[nodiscard]] static std::unique_ptr<Cable> lay(std::string& why_not);
    Cable() = default;
    virtual ~Cable() = default;
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;

    // Where one can listen, with port 0; `near_place` is also what this thread dials from.
    [[nodiscard]] virtual std::string near_place() const = 0;
    [[nodiscard]] virtual std::string far_place() const = 0;
    // Runs `f` on this thread, as if it were at the far end.
    virtual void at_the_far_end(const std::function<void()>& f) const = 0;
    // What is given to that end is lost. Both ends keep their addresses.
    virtual void unplug(End end) = 0;
    virtual void plug_in(End end) = 0;
    // Whether an end that is unplugged has no way to the other: else what is sent just does not arrive.
    [[nodiscard]] virtual bool way_goes_with_plug() const = 0;
    // As by `ip link set down`, for the rest of the test. False: that is what unplugging does.
    [[nodiscard]] virtual bool take_down(End end) = 0;
};

}  // namespace cinnabar::test
