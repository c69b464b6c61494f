// SPDX-License-Identifier: BSD-3-Clause
#include "commands/same_file.hpp"

#include <utility>

namespace cinnabar::tools {

hl::Task<Result<bool>> is_same_file(files::Client& session, files::OpenSource open, std::string name, SameBy how,
                                    SameAttributes same) {
    Result<files::Seen> there = co_await session.look(name);
    if (!there) co_return std::move(there).error();
    const auto here = open();
    if (!here) co_return here.error();
    const auto& entry = there->entry;
    CINNABAR_CO_TRY(const auto attributes, here->attributes({}));
    if (entry.kind != files::EntryKind::file || entry.bytes != here->bytes()) co_return false;
    if (how.preserved && !same.mode(entry.attributes, attributes)) co_return false;
    if (how.by_content) {
        auto comparing = session.has_content(std::move(open), name);
        co_return co_await std::move(comparing);
    }
    if (how.preserved) co_return same.mode_and_time(entry.attributes, attributes);
    if (!how.checked) co_return false;
    auto comparing = session.was_saved_from(std::move(open), name);
    co_return co_await std::move(comparing);
}

}  // namespace cinnabar::tools
