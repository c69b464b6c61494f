// SPDX-License-Identifier: BSD-3-Clause
// A tree of files, folders and links that a seed decides, and whether another one is as whole as it should be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>

namespace cinnabar::crash {

// What a name has: the content of a file, "-> " and the target of a link, or "/" of a folder.
using Contents = std::map<std::string, std::string>;

[[nodiscard]] Contents make_tree(std::mt19937_64& random);
// Older versions of some of them, and something else.
[[nodiscard]] Contents make_older(const Contents& tree, std::mt19937_64& random);
void write_tree(const Contents& tree, const std::filesystem::path& at);
// All below `at`, but unfinished files.
[[nodiscard]] Contents read_tree(const std::filesystem::path& at);

// Every name that is there is whole and one of both, and none of the older ones is missing. Tells the first that is
// not.
[[nodiscard]] std::string find_broken(const Contents& there, const Contents& tree, const Contents& older);
// All of `tree` is there, and what else there was before. Tells the first that is not.
[[nodiscard]] std::string find_unfinished(const Contents& there, const Contents& tree, const Contents& older);

}  // namespace cinnabar::crash
