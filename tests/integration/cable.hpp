// SPDX-License-Identifier: BSD-3-Clause
// Two network namespaces of the test's own, and a cable between them (a veth pair) that can be unplugged at either end.
// The thread that lays it is at the near end until the cable goes; what it starts at the far end is there for good.
// Nothing of it is seen outside, and the kernel removes it all with the last process that is in it.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <functional>
#include <memory>
#include <string>

namespace cinnabar::test {

class Cable {
  public:
    enum class End { near, far };
    static constexpr const char* near_host = "10.77.0.1";
    static constexpr const char* far_host = "10.77.0.2";

    // Null, and why, where this process may not do that (it needs root), or the kernel cannot.
    [[nodiscard]] static std::unique_ptr<Cable> lay(std::string& why_not);
    ~Cable();
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;

    // Runs `f` on this thread, as if it were at the far end.
    void at_the_far_end(const std::function<void()>& f) const;
    // The interface of that end goes down: it drops what it is given, and the other end has no carrier. Both keep their
    // addresses.
    void unplug(End end) const { set_up(end, false); }
    void plug_in(End end) const { set_up(end, true); }

  private:
    Cable() = default;
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
