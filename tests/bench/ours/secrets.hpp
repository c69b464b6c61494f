// SPDX-License-Identifier: BSD-3-Clause
// A key and certificates for the figures of tcps, in a folder that is removed at the end. Throws std::runtime_error (or
// BadResult).
#pragma once

#include <cinnabar/na/types.hpp>

namespace cinnabar::bench {

struct Secrets {
    na::TlsOptions key;     // for both sides
    na::TlsOptions server;  // a certificate for 127.0.0.1
    na::TlsOptions client;
};

// The first call makes them; it must come before the server processes that use them are started. One thread.
[[nodiscard]] const Secrets& secrets();

}  // namespace cinnabar::bench
