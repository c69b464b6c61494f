// SPDX-License-Identifier: BSD-3-Clause
#include "spread/union.hpp"

#include "commands/entries.hpp"

#include <utility>

namespace cinnabar::tools::spread {
namespace {

bool looks_different(const files::Entry& a, const files::Entry& b) {
    if (a.kind != b.kind) return true;
    if (a.kind == files::EntryKind::folder) return false;
    return a.bytes != b.bytes || a.target != b.target || !same_time_and_mode(a.attributes, b.attributes);
}

}  // namespace

void Union::add(files::Entry entry, std::size_t server) {
    const auto [at, fresh] = by_name_.try_emplace(entry.name);
    auto& found = at->second;
    if (!fresh && found.last == server) return;
    found.last = server;
    ++found.copies;
    if (fresh) {
        found.entry = std::move(entry);
        return;
    }
    found.differ = found.differ || looks_different(found.entry, entry);
}

}  // namespace cinnabar::tools::spread
