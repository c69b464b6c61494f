// SPDX-License-Identifier: BSD-3-Clause
// Remembers at most remains_max remains, the oldest of which is forgotten first, and gives each out once.
#include "session/known_remains.hpp"

#include <cinnabar/files/remains.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::files {

void KnownRemains::put(const std::string& name, const FileStamp& left, const Sender& sender, Part part) {
    if (sender.source == SourceMark{} || part.bytes == 0) return;
    const std::lock_guard lock(mutex_);
    entries_.insert_or_assign(name, Entry{left, sender, std::move(part), next_++});
    if (entries_.size() <= remains_max) return;
    const auto number = [](const auto& entry) { return entry.second.number; };
    entries_.erase(std::ranges::min_element(entries_, {}, number));
}

std::optional<KnownRemains::Part> KnownRemains::take(const std::string& name, const FileStamp& found,
                                                     const Sender& sender) {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.extract(name);
    if (!entry || sender.source == SourceMark{}) return std::nullopt;
    if (entry.mapped().left != found || entry.mapped().sender != sender) return std::nullopt;
    return std::move(entry.mapped().part);
}

}  // namespace cinnabar::files
