// SPDX-License-Identifier: BSD-3-Clause
#include "cable.hpp"

#include "namespace_cable.hpp"
#include "support/cable_ends.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace cinnabar::test {
namespace {

// A cable that tests/vm has set up beforehand; both its ends are in one network namespace.
class LaidCable final : public Cable {
  public:
    explicit LaidCable(support::CableEnds ends) : ends_(std::move(ends)) {}
    ~LaidCable() override {
        for (const End end : {End::near, End::far}) plug_in(end);
    }

    [[nodiscard]] std::string near_address() const override { return ends_.near_end; }
    [[nodiscard]] std::string far_address() const override { return ends_.far_end; }
    void at_the_far_end(const std::function<void()>& f) const override { f(); }
    void unplug(End end) override { order("unplug", end); }
    void plug_in(End end) override { order("plug", end); }
    [[nodiscard]] bool way_goes_with_plug() const override { return false; }
    [[nodiscard]] bool take_down(End end) override {
        order("down", end);  // tests/vm restores it after this process has exited
        return true;
    }

  private:
    void order(const std::string& verb, End end) const {
        const std::string& place = end == End::near ? ends_.near_end : ends_.far_end;
        const std::string command = "\"$CINNABAR_CABLE_TOOL\" " + verb + " '" + place + "'";
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }

    support::CableEnds ends_;
};

}  // namespace

std::unique_ptr<Cable> Cable::lay(std::string& why_not) {
    if (auto ends = support::cable_ends()) return std::make_unique<LaidCable>(*std::move(ends));
    auto cable = NamespaceCable::lay();
    if (!cable) why_not = std::string("network namespaces with a cable between them: ") + std::strerror(errno);
    return cable;
}

}  // namespace cinnabar::test
