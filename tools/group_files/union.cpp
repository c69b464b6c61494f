// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/union.hpp"

#include "commands/entries.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

bool looks_different(const files::Entry& a, const files::Entry& b) {
    if (a.kind != b.kind) return true;
    if (a.kind == files::EntryKind::folder) return false;
    return a.bytes != b.bytes || a.target != b.target || !same_time_and_mode(a.attributes, b.attributes);
}

}  // namespace

bool is_newer(const files::Attributes& a, const files::Attributes& b) noexcept {
    return std::pair(a.modified_s, a.modified_ns) > std::pair(b.modified_s, b.modified_ns);
}

void Union::add(files::Entry entry, std::size_t server) {
    const auto [at, fresh] = by_name_.try_emplace(entry.name);
    auto& found = at->second;
    if (!fresh) found.of_many_kinds = found.of_many_kinds || found.entry.kind != entry.kind;
    if (!fresh && found.last == server) return;
    found.last = server;
    found.largest_bytes = std::max(found.largest_bytes, entry.bytes);
    ++found.copies;
    if (fresh) {
        found.entry = std::move(entry);
        return;
    }
    found.differ = found.differ || looks_different(found.entry, entry);
    if (entry.kind == files::EntryKind::folder && is_newer(entry.attributes, found.entry.attributes))
        found.entry.attributes = std::move(entry.attributes);
}

}  // namespace cinnabar::tools::group_files
