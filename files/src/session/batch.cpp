// SPDX-License-Identifier: BSD-3-Clause
#include "session/batch.hpp"

#include <cinnabar/files/name.hpp>

#include <set>
#include <string_view>
#include <utility>

namespace cinnabar::files {
namespace {

Result<void> check_count(std::size_t entries) {
    if (entries == 0 || entries > batch_entries_max)
        return Error{Errc::invalid_argument, "a call makes or removes 1 to 64 entries"};
    return {};
}

Error name_too_long() { return {Errc::too_large, "the name is over 4095 bytes"}; }
Error name_twice() { return {Errc::invalid_argument, "a name comes twice in one call"}; }

void sync_all(FolderSyncs& folders, std::vector<BatchStep>& steps) {
    folders.sync([&steps](std::size_t number, const Error& why) { steps[number].outcome = why; });
}

}  // namespace

std::size_t batch_text(const NewEntry& entry) noexcept {
    return entry.name.size() + entry.target.size() + extended_bytes(entry.attributes.extended);
}

Result<void> check_batch(const MakeManyIn& in) {
    CINNABAR_TRY_VOID(check_count(in.entries.size()));
    std::size_t text = 0;
    std::set<std::string_view> names;
    for (const auto& entry : in.entries) {
        if (entry.kind > MakeKind::hard_link) return Error{Errc::invalid_argument, "nothing of that kind is made"};
        if (entry.name.size() > name_bytes_max) return name_too_long();
        if (entry.target.size() > name_bytes_max)
            return Error{Errc::too_large, "the target of the link is over 4095 bytes"};
        text += batch_text(entry);
        if (text > batch_text_bytes_max)
            return Error{Errc::too_large, "the names, targets and extended attributes of a call are over 64 KiB"};
        if (!names.insert(entry.name).second) return name_twice();
    }
    return {};
}

Result<void> check_batch(const RemoveManyIn& in) {
    CINNABAR_TRY_VOID(check_count(in.names.size()));
    std::size_t text = 0;
    std::set<std::string_view> names;
    for (const auto& name : in.names) {
        if (name.size() > name_bytes_max) return name_too_long();
        text += name.size();
        if (text > batch_text_bytes_max) return Error{Errc::too_large, "the names of a call are over 64 KiB"};
        if (!names.insert(name).second) return name_twice();
    }
    return {};
}

void make_batch(const Root& root, const MakeManyIn& in, std::vector<BatchStep>& steps) {
    FolderSyncs folders;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto& entry = in.entries[i];
        auto& step = steps[i];
        if (!step.outcome) continue;
        step.was_there = entry.kind == MakeKind::folder && root.look(entry.name, {}).ok();
        UniqueFd changed;
        step.outcome = make_below_root(root, entry, &changed);
        folders.add(std::move(changed), i, entry.name);
    }
    sync_all(folders, steps);
}

void remove_batch(const Root& root, const RemoveManyIn& in, std::vector<BatchStep>& steps) {
    FolderSyncs folders;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].outcome) continue;
        UniqueFd changed;
        steps[i].outcome = root.remove(in.names[i], in.links.no_links_below(), &changed);
        folders.add(std::move(changed), i, in.names[i]);
    }
    sync_all(folders, steps);
}

}  // namespace cinnabar::files
