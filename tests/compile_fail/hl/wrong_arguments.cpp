// SPDX-License-Identifier: BSD-3-Clause
// A call takes what its Rpc names.
#include <cinnabar/cinnabar.hpp>

#include <string>

constexpr cinnabar::Rpc<int(std::string)> length{"length"};

int call(const cinnabar::Node& node, const cinnabar::Addr& to) {
#ifdef CINNABAR_MUST_FAIL
    return node.call(length, to, std::vector<int>{1}).wait().value();
#else
    return node.call(length, to, "text").wait().value();
#endif
}
