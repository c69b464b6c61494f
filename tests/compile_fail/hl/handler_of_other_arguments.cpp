// SPDX-License-Identifier: BSD-3-Clause
// A handler takes the arguments of its Rpc, or a Request of them.
#include <cinnabar/cinnabar.hpp>

#include <string>

constexpr cinnabar::Rpc<int(int)> twice{"twice"};

void serve(const cinnabar::Node& node) {
#ifdef CINNABAR_MUST_FAIL
    node.serve(twice, [](const std::string& text) { return static_cast<int>(text.size()); }).value();
#else
    node.serve(twice, [](cinnabar::Request<int> request) { return 2 * *request; }).value();
#endif
}
