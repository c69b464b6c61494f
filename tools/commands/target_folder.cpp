// SPDX-License-Identifier: BSD-3-Clause
#include "commands/target_folder.hpp"

#include <cinnabar/files/file_error.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

namespace cinnabar::tools {
namespace {

Result<void> make_folder(const std::string& path) {
    std::error_code failed;
    std::error_code ignored;
    std::filesystem::create_directories(path, failed);
    if (failed && !std::filesystem::is_directory(path, ignored))
        return files::file_error(failed.value(), "cannot make the directory", path);
    return {};
}

}  // namespace

hl::Task<Result<files::Listing>> list_here(const files::Root& into, std::string name,
                                           std::optional<std::string> no_links_below) {
    files::Listing all;
    std::uint64_t cursor = 0;
    do {
        auto part = into.list(name, cursor, {}, no_links_below);
        if (!part) co_return std::move(part).error();
        std::ranges::move(part->entries, std::back_inserter(all.entries));
        all.attributes = std::move(part->attributes);
        cursor = part->cursor;
    } while (cursor != 0);
    co_return all;
}

Result<std::optional<files::Root>> open_target_folder(const FetchOptions& options) {
    if (!options.dry_run) CINNABAR_TRY_VOID(make_folder(options.folder));
    auto root = files::Root::open(options.folder);
    if (options.dry_run && root.code() == Errc::not_found) return std::optional<files::Root>();
    if (!root) return std::move(root).error();
    if (!options.dry_run) (void)root->remove_leftovers();
    return std::optional<files::Root>(*std::move(root));
}

}  // namespace cinnabar::tools
