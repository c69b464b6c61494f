// SPDX-License-Identifier: BSD-3-Clause
// A type with a serialize function is not taken for a plain aggregate where the bridge is not included.
#include <cinnabar/rpc/proc.hpp>

struct Argument {
    int value = 0;
    int cache = 0;
#ifdef CINNABAR_MUST_FAIL
    template <class Archive>
    void serialize(Archive& archive) {
        archive(value);
    }
#endif
};

std::size_t use(const Argument& argument) { return cinnabar::rpc::proc_size(argument); }
