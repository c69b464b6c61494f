// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>

namespace cinnabar::files {
namespace {

// Shortens long names for messages.
std::string shown(std::string_view name) {
    constexpr std::size_t shown_bytes_max = 80;
    if (name.size() <= shown_bytes_max) return printable(name);
    return printable(name.substr(0, shown_bytes_max)) + "...";
}

Result<void> check_component(std::string_view component, std::string_view name) {
    if (component.empty()) return Error{Errc::invalid_argument, "the name has an empty component", shown(name)};
    if (component == ".") return Error{Errc::invalid_argument, "the name has a '.' component", shown(name)};
    if (component == "..") return Error{Errc::permission, "the name leaves the root by '..'", shown(name)};
    if (component.size() > component_bytes_max)
        return Error{Errc::too_large, "a component of the name is over 255 bytes", shown(name)};
    return {};
}

}  // namespace

Result<void> check_name(std::string_view name) {
    if (name.empty()) return Error{Errc::invalid_argument, "the name is empty"};
    if (name.front() == '/') return Error{Errc::permission, "the name is an absolute path", shown(name)};
    if (name.find('\0') != std::string_view::npos)
        return Error{Errc::invalid_argument, "the name has a zero byte", shown(name)};
    if (name.size() > name_bytes_max) return Error{Errc::too_large, "the name is over 4095 bytes", shown(name)};
    for (std::string_view rest = name;;) {
        const auto slash = rest.find('/');
        const auto component = rest.substr(0, slash);
        CINNABAR_TRY_VOID(check_component(component, name));
        if (component == staging_folder && component.data() == name.data())
            return Error{Errc::permission, "the name is reserved for unfinished files", shown(name)};
        if (slash == std::string_view::npos) return {};
        rest.remove_prefix(slash + 1);
    }
}

bool is_unfinished_name(std::string_view leaf) noexcept {
    constexpr std::string_view begin = ".cinnabar-";
    constexpr std::size_t digits = 16;
    if (!leaf.starts_with(begin)) return false;
    leaf.remove_prefix(begin.size());
    if (leaf.find_first_not_of("0123456789abcdef") != digits) return false;
    const auto end = leaf.substr(digits);
    return end == ".part" || end == ".journal";
}

std::string_view leaf_of(std::string_view path) noexcept {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view parent_of(std::string_view path) noexcept {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace cinnabar::files
