// SPDX-License-Identifier: BSD-3-Clause
// A handler takes the arguments of its Rpc and returns its result.
#include <cinnabar/cinnabar.hpp>

#include <string>

constexpr cinnabar::Rpc<int(int)> twice{"twice"};

void serve(const cinnabar::Node& node) {
#ifdef CINNABAR_MUST_FAIL
    node.serve(twice, [](int) { return std::string("two"); }).value();
#else
    node.serve(twice, [](int value) { return 2 * value; }).value();
#endif
}
