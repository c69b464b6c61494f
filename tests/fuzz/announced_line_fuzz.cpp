// SPDX-License-Identifier: BSD-3-Clause
// Lines by which processes announce themselves, from the roster of a folder that others can write. An accepted one
// describes a process that listens, and is the line of what it describes.
#include "announced_line.hpp"

#include <cinnabar/base/assert.hpp>

#include <cstdint>
#include <string>
#include <string_view>

using namespace cinnabar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view line(reinterpret_cast<const char*>(bytes), size);
    const std::string_view address = group::address_of_line(line);
    CINNABAR_ASSERT(line.starts_with(address));
    const auto claim = group::claim_of_line(line);
    if (!claim) {
        CINNABAR_ASSERT(claim.code() == Errc::protocol);
        return 0;
    }
    CINNABAR_ASSERT(claim->profile && claim->profile.address().listens() && claim->process != 0);
    const std::string again = group::announced_line(address, *claim);
    CINNABAR_ASSERT(group::claim_of_line(again).ok() && again.size() == line.size());
    return 0;
}
