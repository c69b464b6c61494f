// SPDX-License-Identifier: BSD-3-Clause
// A view shows the bytes of the peer as they are, so not every byte may be an error in its elements.
#include <cinnabar/rpc/proc.hpp>

#ifdef CINNABAR_MUST_FAIL
using Element = bool;
#else
using Element = unsigned char;
#endif

cinnabar::Errc use(cinnabar::ConstBytes in, std::span<const Element>& view) { return cinnabar::rpc::decode(in, view); }
