// SPDX-License-Identifier: BSD-3-Clause
// Mercury's strings, "[class+]protocol[://address]", and the core's addresses. docs/mercury.md has the table. Pure
// parsing; any thread.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::mercury {

struct InfoString {
    std::string name;      // "ofi"; what HG_Class_get_name tells
    std::string protocol;  // "tcp;ofi_rxm"
    std::string scheme;    // the core's: "tcp"
    std::string uri;       // what is opened: "tcp://127.0.0.1:0"
    // How long calls and transfers may take; max: for ever. From "?deadline_ms=N", else CINNABAR_HG_DEADLINE_MS.
    Microseconds deadline = Microseconds::max();
    // How long a peer may take no part: that does not greet, reads nothing, sends no more of its large arguments. From
    // "?patience_ms=N", else CINNABAR_HG_PATIENCE_MS.
    Microseconds patience = std::chrono::minutes(1);

    // How addresses begin when they are printed: "ofi+tcp;ofi_rxm", or "tcp" where the string had no class.
    std::string prefix;

    // The transport may have chosen among several; addresses name what it chose.
    void opened_as(std::string_view what);

    // bad_address: not such a string. unsupported: a protocol that nothing here stands for.
    [[nodiscard]] static Result<InfoString> parse(std::string_view text);
};

// An address that Mercury's programs hand out, one endpoint or several between commas, as the core writes it.
// bad_address, unsupported.
[[nodiscard]] Result<std::string> to_core(std::string_view address);

// The core's address with another beginning: "tcp://h:1" and "ofi+tcp" give "ofi+tcp://h:1".
[[nodiscard]] std::string with_prefix(std::string_view address, std::string_view scheme, std::string_view prefix);

}  // namespace cinnabar::mercury
