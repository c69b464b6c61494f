// SPDX-License-Identifier: BSD-3-Clause
// Fields of a log line: the facts of the line, each under a key, for programs that read the log. The line's text says
// the same to people.
//
//     log(LogLevel::warning, "rpc", {peer_field(addr), error_field(code)}, "%s is cut off", name);
//
// In JSON the fields are members of the line's object: "peer": "tcp://10.0.0.5:41234", "error": "protocol". The text on
// stderr does not contain the fields. Sinks get the fields as LogLine::fields. A field allocates nothing; the name of a
// peer is formatted only if its line is logged.
#pragma once

#include <cinnabar/base/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar {

// The key of a field: a literal of at most 15 lower-case letters, digits and `_`, but not the name of a JSON member
// that every line has, such as "time". The compiler checks the literal.
class LogKey {
  public:
    static constexpr std::size_t bytes_max = 15;

    // NOLINTNEXTLINE(google-explicit-constructor): implicit, so that a literal can be passed
    consteval LogKey(const char* name) : name_(name) {
        if (!is_key(name)) throw "the key of a field: at most 15 of a to z, 0 to 9 and _, and no member of every line";
    }
    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }

    [[nodiscard]] static constexpr bool is_key(std::string_view text) noexcept {
        constexpr std::array<std::string_view, 7> members{"time",   "level",    "process", "thread",
                                                          "module", "left_out", "text"};
        for (const std::string_view member : members) {
            if (text == member) return false;
        }
        for (const char c : text) {
            if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') return false;
        }
        return !text.empty() && text.size() <= bytes_max;
    }

  private:
    std::string_view name_;
};

// Something with a name for the log, such as na::Addr. Must not throw.
template <typename T>
concept NamedForLog = requires(const T& object) {
    { object.log_name() }
    noexcept->std::same_as<std::string>;
};

class LogField {
  public:
    constexpr LogField() noexcept = default;
    // `text` must live until the line was logged. Parts of it may come from a peer.
    constexpr LogField(LogKey key, std::string_view text) noexcept : key_(key.name()), text_(text) {}
    LogField(LogKey key, std::nullptr_t) = delete;  // a number is unsigned: 0u
    template <std::unsigned_integral Number>
    constexpr LogField(LogKey key, Number number) noexcept : key_(key.name()), number_(number), is_number_(true) {}
    // `object` must live until the line was logged; its name is made only then.
    template <NamedForLog T>
    LogField(LogKey key, const T& object) noexcept
        : key_(key.name()),
          object_(&object),
          name_of_([](const void* of) noexcept -> std::string { return static_cast<const T*>(of)->log_name(); }) {}

    [[nodiscard]] constexpr std::string_view key() const noexcept { return key_; }
    [[nodiscard]] constexpr bool is_number() const noexcept { return is_number_; }
    [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }
    // Of a field in a LogLine: the text, or the first 255 bytes of a name.
    [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

  private:
    friend class LogFields;

    std::string_view key_;
    std::string_view text_;
    std::uint64_t number_ = 0;
    const void* object_ = nullptr;  // until its name replaces it
    std::string (*name_of_)(const void* object) noexcept = nullptr;
    bool is_number_ = false;
};

inline constexpr LogKey peer_key{"peer"};
inline constexpr LogKey transport_key{"transport"};
inline constexpr LogKey rpc_key{"rpc"};
inline constexpr LogKey error_key{"error"};
inline constexpr LogKey phase_key{"phase"};
inline constexpr LogKey bytes_key{"bytes"};

// The fields that the library's own lines have. A field has the same key in all lines.

// The peer that the line is about: its address, or the proven name of a caller.
template <NamedForLog T>
[[nodiscard]] LogField peer_field(const T& peer) noexcept {
    return LogField(peer_key, peer);
}
[[nodiscard]] constexpr LogField peer_field(std::string_view name) noexcept { return LogField(peer_key, name); }
// The scheme of the transport.
[[nodiscard]] constexpr LogField transport_field(std::string_view scheme) noexcept {
    return LogField(transport_key, scheme);
}
[[nodiscard]] constexpr LogField rpc_field(std::string_view name) noexcept { return LogField(rpc_key, name); }
[[nodiscard]] inline LogField error_field(Errc code) noexcept { return LogField(error_key, to_string(code)); }
// Where a call was when it ended.
[[nodiscard]] constexpr LogField phase_field(std::string_view phase) noexcept { return LogField(phase_key, phase); }
[[nodiscard]] constexpr LogField bytes_field(std::uint64_t bytes) noexcept { return LogField(bytes_key, bytes); }

}  // namespace cinnabar
