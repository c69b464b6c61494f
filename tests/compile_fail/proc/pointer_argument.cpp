// SPDX-License-Identifier: BSD-3-Clause
// A raw pointer in an argument is refused, also deep inside, and the message says what to send instead.
#include <cinnabar/rpc/proc.hpp>

struct Inner {
#ifdef CINNABAR_MUST_FAIL
    int* values;
#else
    std::span<const int> values;
#endif
};
struct Argument {
    std::string name;
    std::vector<Inner> inner;
};

cinnabar::Errc use(cinnabar::Bytes out, const Argument& argument, std::size_t& used) {
    return cinnabar::rpc::encode(out, argument, used);
}
