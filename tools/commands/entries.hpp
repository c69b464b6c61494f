// SPDX-License-Identifier: BSD-3-Clause
// Formats the entries of a server for output, and compares them. Pure functions.
#pragma once

#include "terminal/json.hpp"

#include <cinnabar/files/entry.hpp>

#include <string>
#include <string_view>

namespace cinnabar::tools {

[[nodiscard]] std::string_view name_of(files::EntryKind kind);   // "file", "folder", "link", "other"
[[nodiscard]] char letter_of(files::EntryKind kind);             // as ls: '-', 'd', 'l', '?'
[[nodiscard]] std::string time_of(const files::Attributes& of);  // "2026-11-24 10:00:00Z"; "?" if out of range
[[nodiscard]] std::string permissions_of(std::uint32_t mode);    // "rw-r-----"
// Adds kind, bytes, mode, time and target.
void add_entry(JsonObject& object, const files::Entry& entry);

[[nodiscard]] inline bool same_time_and_mode(const files::Attributes& a, const files::Attributes& b) noexcept {
    return a.mode == b.mode && a.modified_s == b.modified_s && a.modified_ns == b.modified_ns;
}

}  // namespace cinnabar::tools
