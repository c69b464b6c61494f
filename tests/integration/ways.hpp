// SPDX-License-Identifier: BSD-3-Clause
// The transports between processes, for tests that run over each of them.
#pragma once

#include "support/cable_places.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace cinnabar::test {

struct Way {
    std::string name;
    std::string listen;  // a place of its own for each process
    std::string open;
    friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

// Also from one end of a cable to the other, where there is one.
inline std::vector<Way> ways() {
    std::vector<Way> all{{"tcp", "tcp://127.0.0.1:0", "tcp://"},
                         {"shm", "shm://", "shm://"},
                         {"shm_buffers", "shm://?copy=buffers", "shm://?copy=buffers"}};
    if (const auto cable = support::cable_places()) all.push_back({"cable", cable->far_end, cable->near_end});
    return all;
}

#define CINNABAR_ON_EACH_WAY(suite)                                                    \
    INSTANTIATE_TEST_SUITE_P(Over, suite, testing::ValuesIn(::cinnabar::test::ways()), \
                             [](const auto& each) { return each.param.name; })

}  // namespace cinnabar::test
