// SPDX-License-Identifier: BSD-3-Clause
// When, on a clock that another process does not have.
#include <cinnabar/rpc/proc.hpp>

struct Due {
#ifdef CINNABAR_MUST_FAIL
    std::chrono::steady_clock::time_point at;
#else
    std::chrono::system_clock::time_point at;
#endif
};

cinnabar::Errc use(cinnabar::ConstBytes in, Due& value) { return cinnabar::rpc::decode(in, value); }
