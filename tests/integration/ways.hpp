// SPDX-License-Identifier: BSD-3-Clause
// The transports between processes, for tests that run on each of them.
#pragma once

#include "support/cable_ends.hpp"
#include "support/missing_here.hpp"
#include "support/sanitizers.hpp"
#include "support/test_key.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::test {

struct Way {
    std::string name;
    std::string listen;  // gives each process its own address
    std::string open;
    friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

// Includes the two ends of a cable if there is one.
inline const std::vector<Way>& ways() {
    static const std::vector<Way> all = [] {
        std::vector<Way> list{{"tcp", "tcp://127.0.0.1:0", "tcp://"},
                              {"shm", "shm://", "shm://"},
                              {"shm_buffers", "shm://?copy=buffers", "shm://?copy=buffers"}};
        const std::vector<std::pair<std::string, std::string>> fabrics{
            {"ofi_tcp_rxm", "ofi+tcp;ofi_rxm://127.0.0.1:0"},
            {"ofi_net", "ofi+net://127.0.0.1:0"},
            {"ofi_sockets", "ofi+sockets://127.0.0.1:0"},
            {"ofi_shm", "ofi+shm://127.0.0.1:0"},
            {"ofi_udp_rxd", "ofi+udp;ofi_rxd://127.0.0.1:0"}};
        na::Registry registry;
        add_builtin(registry);
        for (const auto& [name, uri] : fabrics) {
            if (support::thread_sanitizer && name != "ofi_tcp_rxm") continue;
            if (support::missing_here(registry.open(uri, {})).empty()) list.push_back({name, uri, uri});
        }
#ifdef CINNABAR_FULL_TESTS
        for (const auto& [name, scheme] :
             std::vector<std::pair<std::string, std::string>>{{"tcps", "tcps"}, {"ofis_tcp_rxm", "ofis+tcp;ofi_rxm"}}) {
            const std::string uri = scheme + "://127.0.0.1:0?key=" + support::test_key_file();
            if (support::missing_here(registry.open(uri, {})).empty()) list.push_back({name, uri, uri});
        }
#endif
        if (const auto cable = support::cable_ends()) {
            const std::string key = cable->is_of("verbss") ? "?key=" + support::test_key_file() : std::string();
            list.push_back({"cable", cable->far_end + key, cable->near_end + key});
        }
        return list;
    }();
    return all;
}

#define CINNABAR_ON_EACH_WAY(suite)                                                    \
    INSTANTIATE_TEST_SUITE_P(Over, suite, testing::ValuesIn(::cinnabar::test::ways()), \
                             [](const auto& each) { return each.param.name; })

}  // namespace cinnabar::test
