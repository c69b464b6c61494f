// SPDX-License-Identifier: BSD-3-Clause
#include "commands/server_errands.hpp"

#include <utility>

namespace cinnabar::tools {
namespace {

hl::Task<Result<files::Moved>> without_bytes(hl::Task<Result<void>> making) {
    Result<void> made = co_await std::move(making);
    if (!made) co_return std::move(made).error();
    co_return files::Moved{};
}

}  // namespace

Errand make_folder_there(Report::File file, files::Entry result) {
    return {std::move(file),
            [name = result.name](files::Client& session, bool) { return without_bytes(session.make_folder(name)); },
            std::move(result)};
}

Errand finish_folder_there(Report::File file, files::Entry result) {
    return {std::move(file),
            [name = result.name, attributes = result.attributes](files::Client& session, bool) {
                return without_bytes(session.finish_folder(name, attributes));
            },
            std::move(result)};
}

Errand make_link_there(Report::File file, files::Entry result, files::Existing existing) {
    return {std::move(file),
            [link = result, existing](files::Client& session, bool) {
                return without_bytes(session.make_link(link.name, link.target, link.attributes, existing));
            },
            std::move(result)};
}

Errand make_hard_link_there(Report::File file, files::Entry result, files::Existing existing) {
    return {std::move(file),
            [name = result.name, first = result.target, existing](files::Client& session, bool) {
                return without_bytes(session.make_hard_link(name, first, existing));
            },
            std::move(result)};
}

}  // namespace cinnabar::tools
