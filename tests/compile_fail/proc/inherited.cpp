// SPDX-License-Identifier: BSD-3-Clause
// The fields of a base class cannot be told.
#include <cinnabar/rpc/proc.hpp>

struct Base {
    int a = 0;
};
#ifdef CINNABAR_MUST_FAIL
struct Derived : Base {
#else
struct Derived {
    Base base;
#endif
    int b = 0;
};

cinnabar::Errc use(cinnabar::ConstBytes in, Derived& value) { return cinnabar::rpc::decode(in, value); }
