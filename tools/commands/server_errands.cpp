// SPDX-License-Identifier: BSD-3-Clause
#include "commands/server_errands.hpp"

#include "commands/session.hpp"

#include <utility>

namespace cinnabar::tools {
namespace {

hl::Task<Result<files::Moved>> without_bytes(hl::Task<Result<void>> making) {
    Result<void> made = co_await std::move(making);
    if (!made) co_return std::move(made).error();
    co_return files::Moved{};
}

hl::Task<Result<bool>> has_link(files::Client& session, const files::Entry& link) {
    Result<files::Seen> there = co_await session.look(link.name);
    if (!there) co_return std::move(there).error();
    co_return there->entry.kind == files::EntryKind::link && there->entry.target == link.target;
}

// Whether `link.name` and `link.target` are names of one file.
hl::Task<Result<bool>> has_hard_link(files::Client& session, const files::Entry& link) {
    Result<files::Seen> there = co_await session.look(link.name);
    if (!there) co_return std::move(there).error();
    Result<files::Seen> first = co_await session.look(link.target);
    if (!first) co_return std::move(first).error();
    const auto& one = there->entry;
    const auto& other = first->entry;
    const bool same = one.inode != 0 && one.inode == other.inode && one.device == other.device;
    co_return same;
}

// Returns the result of a step that failed with `why`: usually `why`. If an earlier session tried the step too
// (`again`), the step may have succeeded in that session, and the answer may have been lost: if `looking` finds the
// entry that the step makes, returns success.
hl::Task<Result<files::Moved>> failed_unless(hl::Task<Result<bool>> looking, bool again, Error why) {
    if (!again || why.code != Errc::exists) co_return why;
    Result<bool> there = co_await std::move(looking);
    if (there && *there) co_return files::Moved{};
    if (!there && ends_all(there.code())) co_return std::move(there).error();
    co_return why;
}

hl::Task<Result<files::Moved>> make_link(files::Client& session, files::Entry link, files::Existing existing,
                                         bool again) {
    Result<void> made = co_await session.make_link(link.name, link.target, link.attributes, existing);
    if (made) co_return files::Moved{};
    auto failed = failed_unless(has_link(session, link), again, made.error());
    co_return co_await std::move(failed);
}

hl::Task<Result<files::Moved>> make_hard_link(files::Client& session, files::Entry link, files::Existing existing,
                                              bool again) {
    Result<void> made = co_await session.make_hard_link(link.name, link.target, existing);
    if (made) co_return files::Moved{};
    auto failed = failed_unless(has_hard_link(session, link), again, made.error());
    co_return co_await std::move(failed);
}

}  // namespace

Errand make_folder_there(Report::File file, files::Entry result) {
    files::NewEntry made{files::MakeKind::folder, result.name, {}, {}, false};
    Errand errand{
        std::move(file),
        [name = result.name](files::Client& session, bool) { return without_bytes(session.make_folder(name)); },
        std::move(result)};
    errand.made = std::move(made);
    return errand;
}

Errand finish_folder_there(Report::File file, files::Entry result) {
    files::NewEntry made{files::MakeKind::finish_folder, result.name, {}, result.attributes, false};
    Errand errand{std::move(file),
                  [name = result.name, attributes = result.attributes](files::Client& session, bool) {
                      return without_bytes(session.finish_folder(name, attributes));
                  },
                  std::move(result)};
    errand.made = std::move(made);
    return errand;
}

Errand make_link_there(Report::File file, files::Entry result, files::Existing existing) {
    const bool replace = existing == files::Existing::replace;
    files::NewEntry made{files::MakeKind::link, result.name, result.target, result.attributes, replace};
    Errand errand{std::move(file),
                  [link = result, existing](files::Client& session, bool again) {
                      return make_link(session, link, existing, again);
                  },
                  std::move(result)};
    errand.made = std::move(made);
    return errand;
}

Errand make_hard_link_there(Report::File file, files::Entry result, files::Existing existing) {
    const bool replace = existing == files::Existing::replace;
    files::NewEntry made{files::MakeKind::hard_link, result.name, result.target, {}, replace};
    Errand errand{std::move(file),
                  [link = result, existing](files::Client& session, bool again) {
                      return make_hard_link(session, link, existing, again);
                  },
                  std::move(result)};
    errand.made = std::move(made);
    return errand;
}

}  // namespace cinnabar::tools
