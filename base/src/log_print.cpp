// SPDX-License-Identifier: BSD-3-Clause
#include "log_print.hpp"

#include "log_settings.hpp"

#include <cinnabar/base/utf8.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace cinnabar::detail {
namespace {

// Appends pieces as long as they fit; after one that does not fit, none is appended.
class Pieces {
  public:
    Pieces(std::span<char> room, std::size_t kept_free) noexcept : room_(room), end_(room.size() - kept_free) {}

    bool put(std::string_view piece) noexcept {
        full_ = full_ || piece.size() > end_ - used_;
        if (full_) return false;
        std::memcpy(room_.data() + used_, piece.data(), piece.size());
        used_ += piece.size();
        return true;
    }
    // Like put(), but skips the piece if there is no room for the piece and `more` bytes after it. Later pieces may
    // still be appended.
    void put_whole(std::string_view piece, std::size_t more) noexcept {
        if (!full_ && piece.size() + more <= end_ - used_) put(piece);
    }
    // Appends `tail`, for which room was kept free.
    std::string_view finish(std::string_view tail) noexcept {
        std::memcpy(room_.data() + used_, tail.data(), tail.size());
        return {room_.data(), used_ + tail.size()};
    }

  private:
    std::span<char> room_;
    std::size_t end_;
    std::size_t used_ = 0;
    bool full_ = false;
};

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// U+0080 to U+009F. Some terminals obey them as they do ESC.
bool is_control_of_two_bytes(std::string_view sequence) noexcept {
    return sequence.size() == 2 && sequence[0] == '\xc2' && static_cast<unsigned char>(sequence[1]) < 0xa0;
}

// `format` must take one 8-bit number.
bool put_number(Pieces& out, const char* format, char c) noexcept {
    std::array<char, 8> text{};
    (void)std::snprintf(text.data(), text.size(), format, static_cast<unsigned>(static_cast<unsigned char>(c)));
    return out.put(text.data());
}

void put_json(Pieces& out, std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t bytes = utf8_sequence_bytes(text);
        const char first = text.front();
        bool room = true;
        if (bytes == 0) {
            room = out.put("\\ufffd");
        } else if (first == '"' || first == '\\') {
            room = out.put(first == '"' ? "\\\"" : "\\\\");
        } else if (is_control_of_two_bytes(text.substr(0, bytes))) {
            room = put_number(out, "\\u%04x", text[1]);
        } else {
            room = is_control(first) ? put_number(out, "\\u%04x", first) : out.put(text.substr(0, bytes));
        }
        if (!room) return;
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
}

void put_decimal(Pieces& out, std::uint64_t number) noexcept {
    std::array<char, 24> text{};
    (void)std::snprintf(text.data(), text.size(), "%llu", static_cast<unsigned long long>(number));
    out.put(text.data());
}

// One field; its text is cut if it is too long.
using FieldRoom = std::array<char, 320>;

// As a member of a JSON object, and a comma.
std::string_view json_of(const LogField& field, FieldRoom& room) noexcept {
    constexpr std::string_view tail = "\", ";
    Pieces out(room, tail.size());
    out.put("\"");
    out.put(field.key());
    out.put("\": ");
    if (field.is_number()) {
        put_decimal(out, field.number());
        return out.finish(", ");
    }
    out.put("\"");
    put_json(out, field.text());
    return out.finish(tail);
}

bool needs_quotes(std::string_view text) noexcept {
    return text.empty() ||
           std::ranges::any_of(text, [](char c) { return c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '='; });
}

std::string_view pair_of(const LogField& field, FieldRoom& room) noexcept {
    Pieces out(room, 1);
    out.put(" ");
    out.put(field.key());
    out.put("=");
    if (field.is_number()) {
        put_decimal(out, field.number());
        return out.finish("");
    }
    const bool quotes = needs_quotes(field.text());
    if (quotes) out.put("\"");
    put_json(out, field.text());
    return out.finish(quotes ? "\"" : "");
}

std::string_view time_text(std::uint64_t unix_us, std::span<char, 40> room) noexcept {
    const auto seconds = static_cast<std::time_t>(unix_us / 1'000'000);
    std::tm utc{};
    (void)::gmtime_r(&seconds, &utc);
    const std::size_t bytes = std::strftime(room.data(), room.size(), "%Y-%m-%dT%H:%M:%S", &utc);
    const int more =
        std::snprintf(room.data() + bytes, room.size() - bytes, ".%06uZ", static_cast<unsigned>(unix_us % 1'000'000));
    return {room.data(), bytes + static_cast<std::size_t>(more)};
}

}  // namespace

std::string_view print_text(const LogLine& line, std::span<char> room) noexcept {
    Pieces out(room, 1);
    out.put("cinnabar: ");
    out.put(to_string(line.level));
    out.put(": ");
    out.put(line.module);
    out.put(": ");
    bool room_left = true;
    for (std::string_view text = line.text; room_left && !text.empty();) {
        const std::size_t bytes = utf8_sequence_bytes(text);
        const std::string_view sequence = text.substr(0, std::max<std::size_t>(bytes, 1));
        if (bytes != 0 && !is_control(text.front()) && !is_control_of_two_bytes(sequence)) {
            room_left = out.put(sequence);
        } else {
            for (const char c : sequence) room_left = room_left && put_number(out, "\\x%02x", c);
        }
        text.remove_prefix(sequence.size());
    }
    return out.finish("\n");
}

std::string_view print_json(const LogLine& line, std::uint64_t unix_us, int process, int thread,
                            std::span<char> room) noexcept {
    std::array<char, 40> time{};
    std::array<char, 128> head{};
    std::array<char, 64> left_out{};
    const std::string_view at = time_text(unix_us, time);
    (void)std::snprintf(head.data(), head.size(),
                        R"({"time": "%.*s", "level": "%s", "process": %d, "thread": %d, "module": ")",
                        static_cast<int>(at.size()), at.data(), to_string(line.level).data(), process, thread);
    if (line.left_out != 0) {
        (void)std::snprintf(left_out.data(), left_out.size(), R"("left_out": %llu, )",
                            static_cast<unsigned long long>(line.left_out));
    }
    constexpr std::string_view text_begins = R"("text": ")";
    constexpr std::string_view tail = "\"}\n";
    Pieces out(room, tail.size());
    out.put(head.data());
    put_json(out, line.module);
    out.put("\", ");
    out.put(left_out.data());
    FieldRoom one{};
    for (const LogField& field : line.fields) out.put_whole(json_of(field, one), text_begins.size());
    out.put(text_begins);
    put_json(out, line.text);
    return out.finish(tail);
}

std::string_view print_line(const LogLine& line, std::span<char> room) noexcept {
    if (log_format() == LogFormat::text) return print_text(line, room);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    return print_json(line, static_cast<std::uint64_t>(us), ::getpid(), ::gettid(), room);
}

}  // namespace cinnabar::detail

namespace cinnabar {

std::string_view print_fields(const LogLine& line, std::span<char> room) noexcept {
    detail::Pieces out(room, 0);
    detail::FieldRoom one{};
    for (const LogField& field : line.fields) out.put_whole(detail::pair_of(field, one), 0);
    return out.finish("");
}

}  // namespace cinnabar
