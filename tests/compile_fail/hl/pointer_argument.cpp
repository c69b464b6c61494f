// SPDX-License-Identifier: BSD-3-Clause
// A raw pointer cannot be an argument.
#include <cinnabar/hl/rpc.hpp>

struct Value {
    int number;
};
constexpr cinnabar::hl::Rpc<int(Value)> take{"take"};

#ifdef CINNABAR_MUST_FAIL
struct Pointing {
    int* number;
};
constexpr cinnabar::hl::Rpc<int(Pointing)> take_pointer{"take_pointer"};
#endif
