// SPDX-License-Identifier: BSD-3-Clause
#include "random_tree.hpp"

#include "support/content.hpp"

#include <fstream>
#include <iterator>
#include <vector>

namespace cinnabar::crash {
namespace {

namespace fs = std::filesystem;

std::uint64_t up_to(std::mt19937_64& random, std::uint64_t most) { return random() % (most + 1); }

// Most files are small; some need several windows, and a few are large enough to be resumed.
std::uint64_t random_size(std::mt19937_64& random) {
    const auto kind = up_to(random, 9);
    if (kind == 0) return 0;
    if (kind < 7) return up_to(random, 8 << 10);
    return kind < 9 ? up_to(random, 3 << 20) : (4 << 20) + up_to(random, 12 << 20);
}

bool is_file(const std::string& content) { return content != "/" && !content.starts_with("-> "); }

std::string shown(const std::string& content) {
    return content.size() < 40 ? content : std::to_string(content.size()) + " bytes";
}

std::string content_of(std::mt19937_64& random, std::uint64_t bytes) {
    return support::pattern(bytes, static_cast<unsigned>(random()));
}

}  // namespace

Contents make_tree(std::mt19937_64& random) {
    Contents tree{{"tree", "/"}};
    std::vector<std::string> folders{"tree"};
    for (auto i = up_to(random, 4); i > 0; --i) {
        folders.push_back(folders[up_to(random, folders.size() - 1)] + "/d" + std::to_string(i));
        tree[folders.back()] = "/";
    }
    for (auto i = 3 + up_to(random, 25); i > 0; --i) {
        const auto& folder = folders[up_to(random, folders.size() - 1)];
        tree[folder + "/f" + std::to_string(i)] = content_of(random, random_size(random));
        if (up_to(random, 5) == 0) tree[folder + "/l" + std::to_string(i)] = "-> f" + std::to_string(i);
    }
    return tree;
}

Contents make_older(const Contents& tree, std::mt19937_64& random) {
    Contents older{{"other", "somebody's"}};
    if (up_to(random, 1) == 0) return older;
    for (const auto& [name, content] : tree) {
        if (content == "/") older[name] = content;
        if (is_file(content) && up_to(random, 2) == 0) older[name] = content_of(random, up_to(random, 20 << 10));
    }
    return older;
}

void write_tree(const Contents& tree, const fs::path& at) {
    for (const auto& [name, content] : tree) {
        if (content == "/") {
            fs::create_directories(at / name);
        } else if (is_file(content)) {
            std::ofstream(at / name, std::ios::binary) << content;
        } else {
            fs::create_symlink(content.substr(3), at / name);
        }
    }
}

Contents read_tree(const fs::path& at) {
    Contents there;
    for (auto entry = fs::recursive_directory_iterator(at); entry != fs::recursive_directory_iterator(); ++entry) {
        const auto name = entry->path().lexically_relative(at).string();
        if (name == ".cinnabar-staging") {
            entry.disable_recursion_pending();
        } else if (entry->is_symlink()) {
            there[name] = "-> " + fs::read_symlink(entry->path()).string();
        } else if (entry->is_directory()) {
            there[name] = "/";
        } else {
            std::ifstream file(entry->path(), std::ios::binary);
            there[name] = {std::istreambuf_iterator<char>(file), {}};
        }
    }
    return there;
}

std::string find_broken(const Contents& there, const Contents& tree, const Contents& older) {
    const auto has = [](const Contents& of, const std::string& name, const std::string& content) {
        const auto found = of.find(name);
        return found != of.end() && found->second == content;
    };
    for (const auto& [name, content] : there) {
        if (!has(tree, name, content) && !has(older, name, content))
            return name + " is neither the new nor the old one: " + shown(content);
    }
    for (const auto& [name, content] : older) {
        if (!there.contains(name)) return name + " is gone";
    }
    return {};
}

std::string find_unfinished(const Contents& there, const Contents& tree, const Contents& older) {
    Contents expected = older;
    for (const auto& [name, content] : tree) expected[name] = content;
    for (const auto& [name, content] : expected) {
        const auto found = there.find(name);
        if (found == there.end()) return name + " is missing";
        if (found->second != content) return name + " is not what was saved: " + shown(found->second);
    }
    return there.size() == expected.size() ? std::string() : "there is more than was saved";
}

}  // namespace cinnabar::crash
