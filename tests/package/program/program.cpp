// SPDX-License-Identifier: BSD-3-Clause
// What a user's first program needs of the installed tree: headers that are found, libraries that link.
#include <cinnabar/base/result.hpp>

#include <cstdio>

int main() {
    const cinnabar::Result<void> result(cinnabar::Error(cinnabar::Errc::timed_out, "as expected"));
    std::puts(result.error().message().c_str());
    return result.code() == cinnabar::Errc::timed_out ? 0 : 1;
}
