// SPDX-License-Identifier: BSD-3-Clause
#include "file/dos_name.hpp"

#include <cinnabar/base/printable.hpp>

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>

namespace cinnabar::files {

NameRules name_rules_of(int fd) noexcept {
    struct statfs system {};
    if (::fstatfs(fd, &system) != 0) return NameRules::any;
    if (system.f_type == MSDOS_SUPER_MAGIC) return NameRules::vfat;
    return system.f_type == EXFAT_SUPER_MAGIC ? NameRules::exfat : NameRules::any;
}

Result<void> check_held(NameRules rules, std::string_view leaf, std::string_view name) {
    if (rules == NameRules::any || leaf.empty()) return {};
    const bool ends_badly = leaf.back() == '.' || (rules == NameRules::vfat && leaf.back() == ' ');
    const bool has_other = std::ranges::any_of(leaf, [](char letter) {
        constexpr std::string_view not_held = "\"*:<>?\\|";
        return static_cast<unsigned char>(letter) < ' ' || not_held.find(letter) != not_held.npos;
    });
    if (!ends_badly && !has_other) return {};
    return Error{
        Errc::invalid_argument,
        R"(the file system (vfat or exfat) takes no name with " * : < > ? \ | or a control character, or with a dot )"
        R"(or space at its end: give it another name)",
        printable(name)};
}

}  // namespace cinnabar::files
