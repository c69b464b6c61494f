// SPDX-License-Identifier: BSD-3-Clause
#include "commands/entries.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace cinnabar::tools {

std::string_view name_of(files::EntryKind kind) {
    switch (kind) {
        case files::EntryKind::file:
            return "file";
        case files::EntryKind::folder:
            return "folder";
        case files::EntryKind::link:
            return "link";
        case files::EntryKind::other:
            break;
    }
    return "other";
}

char letter_of(files::EntryKind kind) {
    constexpr std::string_view letters = "-dl?";
    return letters[static_cast<std::size_t>(kind)];
}

std::string time_of(const files::Attributes& attributes) {
    const auto seconds = static_cast<std::time_t>(attributes.modified_s);
    std::tm parts{};
    if (!::gmtime_r(&seconds, &parts)) return "?";
    return fmt::format("{:%Y-%m-%d %H:%M:%S}Z", parts);
}

std::string permissions_of(std::uint32_t mode) {
    constexpr std::string_view all = "rwxrwxrwx";
    std::string text(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if ((mode & (0400u >> i)) == 0) text[i] = '-';
    }
    return text;
}

void add_entry(JsonObject& object, const files::Entry& entry) {
    object.text("kind", name_of(entry.kind));
    if (entry.kind == files::EntryKind::file) object.number("bytes", entry.bytes);
    object.text("mode", fmt::format("{:04o}", entry.attributes.mode));
    object.text("modified", time_of(entry.attributes));
    if (entry.kind == files::EntryKind::link) object.name("target", entry.target);
}

}  // namespace cinnabar::tools
