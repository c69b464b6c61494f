// SPDX-License-Identifier: BSD-3-Clause
#include "commands/target_folder.hpp"

#include <cinnabar/files/file_error.hpp>

#include <filesystem>
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

Result<std::optional<files::Root>> open_target_folder(const FetchOptions& options) {
    if (!options.dry_run) CINNABAR_TRY_VOID(make_folder(options.folder));
    auto root = files::Root::open(options.folder);
    if (options.dry_run && root.code() == Errc::not_found) return std::optional<files::Root>();
    if (!root) return std::move(root).error();
    if (!options.dry_run) (void)root->remove_leftovers();
    return std::optional<files::Root>(*std::move(root));
}

}  // namespace cinnabar::tools
