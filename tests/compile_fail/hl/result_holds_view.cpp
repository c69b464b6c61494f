// SPDX-License-Identifier: BSD-3-Clause
// A result with a view in it would dangle at the caller.
#include <cinnabar/hl/rpc.hpp>

#include <string>

struct Found {
    std::string name;
};
constexpr cinnabar::hl::Rpc<Found(int)> find{"find"};

#ifdef CINNABAR_MUST_FAIL
struct FoundView {
    std::string_view name;
};
constexpr cinnabar::hl::Rpc<FoundView(int)> find_view{"find_view"};
#endif
