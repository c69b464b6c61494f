// SPDX-License-Identifier: BSD-3-Clause
// Who else holds a value does not travel.
#include <cinnabar/rpc/proc.hpp>

struct Holder {
#ifdef CINNABAR_MUST_FAIL
    std::shared_ptr<int> value;
#else
    std::unique_ptr<int> value;
#endif
};

cinnabar::Errc use(cinnabar::ConstBytes in, Holder& value) { return cinnabar::rpc::decode(in, value); }
