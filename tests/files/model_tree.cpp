// SPDX-License-Identifier: BSD-3-Clause
#include "model_tree.hpp"

#include <vector>

namespace cinnabar::files::test {
namespace {

std::string_view leaf(std::string_view name) { return name.substr(name.rfind('/') + 1); }

std::string_view folder(std::string_view name) {
    const auto slash = name.rfind('/');
    return slash == name.npos ? std::string_view() : name.substr(0, slash);
}

}  // namespace

// The position of a walk: the folders from the root to the current one.
struct ModelTree::Walk {
    std::vector<ThingPtr> above;
    ThingPtr here;
    unsigned links = 0;

    Errc step(std::string_view component, bool follow);
    Errc along(std::string_view path, bool follow_last);
};

Errc ModelTree::Walk::step(std::string_view component, bool follow) {
    if (here->kind != EntryKind::folder) return Errc::invalid_argument;
    if (component.empty() || component == ".") return Errc::ok;
    if (component == "..") {
        if (above.empty()) return Errc::permission;
        here = above.back();
        above.pop_back();
        return Errc::ok;
    }
    const auto found = here->names.find(std::string(component));
    if (found == here->names.end()) return Errc::not_found;
    const auto next = found->second;
    if (next->kind == EntryKind::link && follow) {
        if (++links > 40 || next->target.starts_with('/')) return Errc::permission;
        return along(next->target, true);
    }
    above.push_back(here);
    here = next;
    return Errc::ok;
}

Errc ModelTree::Walk::along(std::string_view path, bool follow_last) {
    for (;;) {
        const auto slash = path.find('/');
        const bool last = slash == path.npos;
        if (const Errc stepped = step(path.substr(0, slash), !last || follow_last); stepped != Errc::ok) return stepped;
        if (last) return Errc::ok;
        path.remove_prefix(slash + 1);
    }
}

Errc ModelTree::check(std::string_view name) {
    if (name.empty() || name.find('\0') != name.npos) return Errc::invalid_argument;
    if (name.front() == '/') return Errc::permission;
    if (name.size() > 4095) return Errc::too_large;
    for (auto rest = name;;) {
        const auto slash = rest.find('/');
        const auto component = rest.substr(0, slash);
        if (component.empty() || component == ".") return Errc::invalid_argument;
        if (component == "..") return Errc::permission;
        if (component.size() > 255) return Errc::too_large;
        if (component == ".cinnabar-staging" && rest.size() == name.size()) return Errc::permission;
        if (slash == rest.npos) return Errc::ok;
        rest.remove_prefix(slash + 1);
    }
}

std::pair<Errc, ThingPtr> ModelTree::find(std::string_view name, bool follow) const {
    Walk walk{{}, root_};
    const Errc found = walk.along(name, follow);
    return {found, found == Errc::ok ? walk.here : nullptr};
}

std::pair<Errc, ThingPtr> ModelTree::find_parent(std::string_view name) const {
    auto found = find(folder(name), true);
    if (found.second && found.second->kind != EntryKind::folder) return {Errc::invalid_argument, nullptr};
    return found;
}

Errc ModelTree::put(std::string_view name, ThingPtr thing, bool replace) {
    const auto [code, parent] = find_parent(name);
    if (code != Errc::ok) return code;
    auto& place = parent->names[std::string(leaf(name))];
    if (place && place->kind == EntryKind::folder) return Errc::invalid_argument;
    if (place && !replace) return Errc::exists;
    place = std::move(thing);
    return Errc::ok;
}

Errc ModelTree::make_folder(std::string_view name) {
    const auto [code, parent] = find_parent(name);
    if (code != Errc::ok) return code;
    auto& place = parent->names[std::string(leaf(name))];
    if (place) return place->kind == EntryKind::folder ? Errc::ok : Errc::exists;
    place = std::make_shared<Thing>();
    place->mode = 0700;
    return Errc::ok;
}

std::pair<Errc, ThingPtr> ModelTree::find_for_link(std::string_view name) const {
    auto found = find(name, false);
    if (found.second && found.second->kind != EntryKind::file) return {Errc::invalid_argument, nullptr};
    return found;
}

Errc ModelTree::remove(std::string_view name) {
    const auto [code, parent] = find_parent(name);
    if (code != Errc::ok) return code;
    const auto found = parent->names.find(std::string(leaf(name)));
    if (found == parent->names.end()) return Errc::not_found;
    if (found->second->kind == EntryKind::folder && !found->second->names.empty()) return Errc::busy;
    parent->names.erase(found);
    return Errc::ok;
}

}  // namespace cinnabar::files::test
