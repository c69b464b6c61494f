// SPDX-License-Identifier: BSD-3-Clause
// Parses Mercury's info strings, "[class+]protocol[://address]", and converts them to the core's addresses and back.
// The table is in docs/mercury.md. Thread-safe.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>

namespace cinnabar::mercury {

struct InfoString {
    std::string name;      // "ofi"; returned by HG_Class_get_name
    std::string protocol;  // "tcp;ofi_rxm"
    std::string scheme;    // the core's: "tcp"
    std::string uri;       // the address to open: "tcp://127.0.0.1:0"
    // The deadline of calls and transfers; max: none. From "?deadline_ms=N", else from CINNABAR_HG_DEADLINE_MS.
    Microseconds deadline = Microseconds::max();
    // How long to wait for a peer that sends no Hello, reads nothing, or stops sending its large arguments. From
    // "?patience_ms=N", otherwise from CINNABAR_HG_PATIENCE_MS.
    Microseconds patience = std::chrono::minutes(1);

    // The prefix of printed addresses: "ofi+tcp;ofi_rxm", or "tcp" if the string had no class.
    std::string prefix;

    // Sets the protocol that the transport has chosen among several, for printed addresses.
    void opened_as(std::string_view what);

    // bad_address: not an info string. unsupported: a protocol that no transport here implements.
    [[nodiscard]] static Result<InfoString> parse(std::string_view text);
};

// Converts the address that a Mercury program uses, of one endpoint or several separated by commas, to the core's form.
// bad_address, unsupported.
[[nodiscard]] Result<std::string> to_core(std::string_view address);

// The core's address with another prefix: "tcp://h:1" and "ofi+tcp" give "ofi+tcp://h:1".
[[nodiscard]] std::string with_prefix(std::string_view address, std::string_view scheme, std::string_view prefix);

}  // namespace cinnabar::mercury
