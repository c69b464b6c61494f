// SPDX-License-Identifier: BSD-3-Clause
// Makes or removes many entries for one call, in their order, and syncs each folder that has changed once. An error of
// one entry does not affect the others. Runs on one disk thread.
#pragma once

#include "file/folder_syncs.hpp"
#include "session/access.hpp"
#include "session/protocol.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/root.hpp>

#include <cstddef>
#include <vector>

namespace cinnabar::files {

// Check the limits of a request: too_large; invalid_argument, also if a name comes twice. Called before the seal is
// checked, because checking the seal reads the whole request.
[[nodiscard]] Result<void> check_batch(const MakeManyIn& in);
[[nodiscard]] Result<void> check_batch(const RemoveManyIn& in);
// The number of bytes of an entry that count against batch_text_bytes_max.
[[nodiscard]] std::size_t batch_text(const NewEntry& entry) noexcept;

// Whether the client may make an entry. `Entry`: MakeIn, NewEntry.
template <typename Entry>
[[nodiscard]] Result<void> may_make(const Access& access, const Entry& entry, const na::Addr& client) {
    using Kind = AccessRequest::Kind;
    switch (entry.kind) {
        case MakeKind::link:
            return access.may({Kind::link, entry.name, 0, entry.replace, entry.target, client});
        case MakeKind::hard_link:
            CINNABAR_TRY_VOID(access.may({Kind::hard_link, entry.name, 0, entry.replace, entry.target, client}));
            // The client might be allowed to fetch the file under its new name, so the client must be allowed to fetch
            // the target, too.
            return access.may({Kind::fetch, entry.target, 0, false, {}, client});
        case MakeKind::folder:
        case MakeKind::finish_folder:
            break;
    }
    return access.may({Kind::make, entry.name, 0, entry.replace, {}, client});
}

// Makes an entry; `unsynced` as in Root. `Entry`: MakeIn, NewEntry.
template <typename Entry>
[[nodiscard]] Result<void> make_below_root(const Root& root, const Entry& entry, UniqueFd* unsynced = nullptr) {
    const auto existing = entry.replace ? Existing::replace : Existing::keep;
    switch (entry.kind) {
        case MakeKind::folder:
            return root.make_folder(entry.name, unsynced);
        case MakeKind::finish_folder:
            return root.finish_folder(entry.name, entry.attributes, unsynced);
        case MakeKind::link:
            return root.make_link(entry.name, entry.target, entry.attributes, existing, unsynced);
        case MakeKind::hard_link:
            return root.make_hard_link(entry.name, entry.target, existing, unsynced);
    }
    return Error{Errc::invalid_argument, "nothing of that kind is made", printable(entry.name)};
}

// The work and the outcome of one entry of a call.
struct BatchStep {
    Result<void> outcome{};  // before the work: an error if the work must not be done
    bool was_there = false;  // a folder that existed
};

// Make or remove the entries whose steps have not failed, and set the outcomes of those steps. `steps`: one for each
// entry.
void make_batch(const Root& root, const MakeManyIn& in, std::vector<BatchStep>& steps);
void remove_batch(const Root& root, const RemoveManyIn& in, std::vector<BatchStep>& steps);

}  // namespace cinnabar::files
