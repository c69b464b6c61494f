// SPDX-License-Identifier: BSD-3-Clause
// An aggregate goes up to 32 fields.
#include <cinnabar/rpc/proc.hpp>

struct Argument {
    int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff;
#ifdef CINNABAR_MUST_FAIL
    int gg;
#endif
};

std::size_t use(const Argument& argument) { return cinnabar::rpc::proc_size(argument); }
