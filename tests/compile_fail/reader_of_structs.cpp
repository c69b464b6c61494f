// SPDX-License-Identifier: BSD-3-Clause
// Structs have padding and pointers; only numbers are read raw.
#include <cinnabar/base/bytes.hpp>

struct Pair {
    char a;
    int* b;
};

int use(cinnabar::ByteReader& reader) {
#ifdef CINNABAR_MUST_FAIL
    const Pair pair = reader.get<Pair>();
    return pair.a;
#else
    return reader.get<char>();
#endif
}
