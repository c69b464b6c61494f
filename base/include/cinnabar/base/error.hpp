// SPDX-License-Identifier: BSD-3-Clause
// The error model of all modules. The data path returns an `Errc`, which is one byte; set-up code returns an `Error`
// inside a `Result<T>`. No exception leaves a module.
#pragma once

#include <cinnabar/base/error_detail.hpp>
#include <cinnabar/base/export.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar {

// Error codes. The values are part of the wire format (docs/wire-format.md, "Error codes"): never renumber, only
// append. 4 and 8 are not used.
enum class Errc : std::uint8_t {
    ok = 0,
    again = 1,           // nothing was done; call again after progress
    canceled = 2,        // requested by the caller; not a fault
    timed_out = 3,       // the deadline passed first
    refused = 5,         // the host answered that nothing listens there
    unreachable = 6,     // no route, unknown host, or a peer that cannot be dialled
    peer_lost = 7,       // the connection or the process behind it is gone
    overloaded = 9,      // the target, or a table of this side, has no room for more
    no_such_rpc = 10,    // the target has no handler of that id
    bad_signature = 11,  // both sides use the name for different argument types
    protocol = 12,       // malformed bytes, or another version of the protocol
    too_large = 13,      // over a named limit
    permission = 14,     // wrong key, read-only memory, or not allowed
    out_of_memory = 15,
    invalid_argument = 16,  // a bug in the calling code
    unsupported = 17,       // the transport lacks the capability
    busy = 18,              // still in use
    not_found = 19,
    exists = 20,
    closed = 21,  // draining or closed here
    bad_checksum = 22,
    io = 23,  // the operating system failed; see Error::os_errno
    no_space = 24,
    would_deadlock = 25,  // a blocking call on a thread that must make progress
    application = 26,     // the handler returned an application error
    handler_failed = 27,  // the handler threw
    bad_address = 28,     // an address string that cannot be parsed or resolved
    address_in_use = 29,
    shutting_down = 30,  // the target is draining
    stale = 31,          // the memory has new contents, or is not shared any more
};
inline constexpr std::uint8_t errc_count = 32;

// False for values without a name: codes of a newer peer, or unused ones.
[[nodiscard]] constexpr bool is_known(Errc code) noexcept {
    const auto number = static_cast<std::uint8_t>(code);
    return number < errc_count && number != 4 && number != 8;
}

// What has to be rebuilt after an error.
enum class BlastRadius : std::uint8_t { nothing, operation, peer, context };

// The name of a code, for logs and messages; static storage. Unknown values give "unknown".
[[nodiscard]] CINNABAR_API std::string_view to_string(Errc code) noexcept;

// One sentence on what to do about the error; static storage.
[[nodiscard]] CINNABAR_API std::string_view advice(Errc code) noexcept;

[[nodiscard]] CINNABAR_API BlastRadius blast_of(Errc code) noexcept;

// The code that matches an errno best.
[[nodiscard]] CINNABAR_API Errc errc_from_errno(int os_errno) noexcept;

// An error of the set-up path. Every Result has room for one, so it is kept small.
struct Error {
    Errc code = Errc::ok;
    std::int16_t os_errno = 0;   // 0 if no system call failed
    std::uint32_t app_code = 0;  // for Errc::application: the handler's code; its text is the subject
    std::string_view hint;       // static storage: what failed and what to do
    std::string subject;         // the peer, address or path concerned; may be empty
    SharedDetail detail;         // more facts, if any: for a call, call_ending() (hl/call_ending.hpp)

    Error(Errc c, std::string_view h = {}, std::string s = {}, int e = 0)
        : code(c), os_errno(static_cast<std::int16_t>(e)), hint(h), subject(std::move(s)) {}

    // Returns a text for people, for example "refused: nothing listens there (tcp://127.0.0.1:1): Connection refused".
    // Returns "out of memory" if there is no memory for the text.
    [[nodiscard]] CINNABAR_API std::string message() const noexcept;
};

}  // namespace cinnabar
