// SPDX-License-Identifier: BSD-3-Clause
// A random tree of files, some of them sparse, folders, links and hard links, and checks whether another tree is as
// complete as it should be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>

namespace cinnabar::crash {

// What a name has: the content of a file, "-> " with the target of a link, or "/" for a folder.
using Contents = std::map<std::string, std::string>;

[[nodiscard]] Contents make_tree(std::mt19937_64& random);
// The file of the same folder that `name` is a further name of, as a hard link; empty: it is a file of its own.
[[nodiscard]] std::string first_name_of(const Contents& tree, const std::string& name);
// Older versions of some names of the tree, and other names.
[[nodiscard]] Contents make_older(const Contents& tree, std::mt19937_64& random);
void write_tree(const Contents& tree, const std::filesystem::path& at);
// Everything below `at`, except unfinished files, whether they are in a server's folder for them or in `at` itself.
[[nodiscard]] Contents read_tree(const std::filesystem::path& at);

// Checks that every existing name is complete and from one of the two trees, and that no older name is missing. Returns
// the first name that is not.
[[nodiscard]] std::string find_broken(const Contents& there, const Contents& tree, const Contents& older);
// Checks that all of `tree` exists, and whatever else existed before. Returns the first name that does not.
[[nodiscard]] std::string find_unfinished(const Contents& there, const Contents& tree, const Contents& older);

}  // namespace cinnabar::crash
