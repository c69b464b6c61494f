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
    // The interface of that end goes down: it drops what it is given, and the other end has no carrier. Both keep their
    // addresses.
    void unplug(End end) const { set_up(end, false); }
    void plug_in(End end) const { set_up(end, true); }

  private:
    virtual void set_up(End end, bool up) const = 0;
};

}  // namespace cinnabar::test
