// SPDX-License-Identifier: BSD-3-Clause
// The transports between processes of one host, for tests that run over each of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

namespace cinnabar::test {

struct Way {
    std::string name;
    std::string listen;  // a place of its own for each process
    std::string open;
    friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

inline const std::array<Way, 3>& ways() {
    static const std::array<Way, 3> all{{{"tcp", "tcp://127.0.0.1:0", "tcp://"},
                                         {"shm", "shm://", "shm://"},
                                         {"shm_buffers", "shm://?copy=buffers", "shm://?copy=buffers"}}};
    return all;
}

#define CINNABAR_ON_EACH_WAY(suite)                                                    \
    INSTANTIATE_TEST_SUITE_P(Over, suite, testing::ValuesIn(::cinnabar::test::ways()), \
                             [](const auto& each) { return each.param.name; })

}  // namespace cinnabar::test
