// SPDX-License-Identifier: BSD-3-Clause
// A count of elements that take no bytes would cost the sender nothing and the receiver memory.
#include <cinnabar/rpc/proc.hpp>

#ifdef CINNABAR_MUST_FAIL
using Element = cinnabar::rpc::Empty;
#else
using Element = char;
#endif

std::size_t use(const std::vector<Element>& values) { return cinnabar::rpc::proc_size(values); }
