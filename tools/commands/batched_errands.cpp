// SPDX-License-Identifier: BSD-3-Clause
#include "commands/batched_errands.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace cinnabar::tools {
namespace {

using MovedTogether = std::vector<Result<files::Moved>>;

enum class OneCall : std::uint8_t { alone, save, fetch, copy, make, remove };

OneCall call_of(const Errand& errand) noexcept {
    if (errand.small) return OneCall::save;
    if (errand.listed) return OneCall::fetch;
    if (errand.copied) return OneCall::copy;
    if (errand.made) return OneCall::make;
    return errand.removed ? OneCall::remove : OneCall::alone;
}

MovedTogether results_of(const std::vector<Result<void>>& outcomes) {
    MovedTogether results;
    for (const auto& outcome : outcomes)
        results.push_back(outcome ? Result<files::Moved>(files::Moved{}) : Result<files::Moved>(outcome.error()));
    return results;
}

hl::Task<MovedTogether> save_together(files::Client& session, const std::vector<Errand*>& errands) {
    std::vector<files::SmallFile> small;
    for (const auto* errand : errands) small.push_back(*errand->small);
    co_return co_await session.save_small(small, errands.front()->mode);
}

hl::Task<MovedTogether> fetch_together(files::Client& session, const std::vector<Errand*>& errands) {
    std::vector<files::ListedFile> listed;
    for (const auto* errand : errands) listed.push_back(*errand->listed);
    const Errand& first = *errands.front();
    co_return co_await session.fetch_small(listed, *first.into, first.fetch_mode);
}

hl::Task<MovedTogether> copy_together(files::Client& session, const std::vector<Errand*>& errands) {
    std::vector<files::CopiedFile> copied;
    for (const auto* errand : errands) copied.push_back(*errand->copied);
    const Errand& first = *errands.front();
    co_return co_await files::copy_small(**first.copied_from, copied, session, first.copy_mode);
}

hl::Task<MovedTogether> make_together(files::Client& session, const std::vector<Errand*>& errands) {
    std::vector<files::NewEntry> entries;
    for (const auto* errand : errands) entries.push_back(*errand->made);
    const auto made = co_await session.make_many(entries);
    co_return results_of(made);
}

hl::Task<MovedTogether> remove_together(files::Client& session, const std::vector<Errand*>& errands) {
    std::vector<std::string> names;
    for (const auto* errand : errands) names.push_back(errand->removed->name);
    auto removed = co_await session.remove_many(names, errands.front()->removed->given);
    for (auto& outcome : removed) outcome = unless_gone(std::move(outcome));
    co_return results_of(removed);
}

}  // namespace

Result<void> unless_gone(Result<void> removed) {
    if (removed.code() == Errc::not_found) return {};
    return removed;
}

bool may_go_together(const Errand& errand) noexcept { return call_of(errand) != OneCall::alone; }

bool go_together(const Errand& one, const Errand& other) {
    const auto call = call_of(one);
    if (call == OneCall::alone || call != call_of(other)) return false;
    if (call == OneCall::remove) return one.removed->given == other.removed->given;
    // A file that is named on the command line gets other attributes than a file of a tree.
    if (call == OneCall::copy)
        return one.copied_from == other.copied_from && one.copy_mode.exact == other.copy_mode.exact;
    return one.mode.exact == other.mode.exact && one.fetch_mode.exact == other.fetch_mode.exact;
}

hl::Task<MovedTogether> move_in_one_call(files::Client& session, const std::vector<Errand*>& errands) {
    switch (call_of(*errands.front())) {
        case OneCall::save:
            return save_together(session, errands);
        case OneCall::fetch:
            return fetch_together(session, errands);
        case OneCall::copy:
            return copy_together(session, errands);
        case OneCall::make:
            return make_together(session, errands);
        case OneCall::alone:
        case OneCall::remove:
            break;
    }
    return remove_together(session, errands);
}

}  // namespace cinnabar::tools
