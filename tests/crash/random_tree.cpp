// SPDX-License-Identifier: BSD-3-Clause
#include "random_tree.hpp"

#include "support/content.hpp"

#include <fstream>
#include <iterator>
#include <string_view>
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

// Zeros with a few pieces between them.
std::string sparse_content(std::mt19937_64& random) {
    std::string content((1 << 20) + up_to(random, 6 << 20), '\0');
    for (auto left = 1 + up_to(random, 2); left > 0; --left) {
        const auto piece = content_of(random, 1 + up_to(random, 20 << 10));
        content.replace(up_to(random, content.size() - piece.size()), piece.size(), piece);
    }
    return content;
}

// Blocks of zeros become holes.
void write_file(const fs::path& path, const std::string& content) {
    constexpr std::size_t block = 4096;
    std::ofstream file(path, std::ios::binary);
    for (std::size_t at = 0; at < content.size(); at += block) {
        const auto part = std::string_view(content).substr(at, block);
        if (part.find_first_not_of('\0') == part.npos) continue;
        file.seekp(static_cast<std::streamoff>(at));
        file.write(part.data(), static_cast<std::streamsize>(part.size()));
    }
    file.close();
    fs::resize_file(path, content.size());
}

}  // namespace

std::string first_name_of(const Contents& tree, const std::string& name) {
    const auto leaf = name.rfind('/') + 1;
    if (leaf >= name.size() || name[leaf] != 'h') return {};
    auto first = name;
    first[leaf] = 'f';
    const auto has = tree.find(first);
    const auto own = tree.find(name);
    return has != tree.end() && own != tree.end() && has->second == own->second ? first : std::string();
}

Contents make_tree(std::mt19937_64& random) {
    Contents tree{{"tree", "/"}};
    std::vector<std::string> folders{"tree"};
    for (auto i = up_to(random, 4); i > 0; --i) {
        folders.push_back(folders[up_to(random, folders.size() - 1)] + "/d" + std::to_string(i));
        tree[folders.back()] = "/";
    }
    for (auto i = 3 + up_to(random, 25); i > 0; --i) {
        const auto& folder = folders[up_to(random, folders.size() - 1)];
        const auto number = std::to_string(i);
        const bool sparse = up_to(random, 11) == 0;
        auto& content = tree[folder + "/f" + number];
        content = sparse ? sparse_content(random) : content_of(random, random_size(random));
        if (up_to(random, 5) == 0) tree[folder + "/h" + number] = content;
        if (up_to(random, 5) == 0) tree[folder + "/l" + number] = "-> f" + number;
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
            const auto first = first_name_of(tree, name);
            if (first.empty()) {
                write_file(at / name, content);
            } else {
                fs::create_hard_link(at / first, at / name);
            }
        } else {
            fs::create_symlink(content.substr(3), at / name);
        }
    }
}

Contents read_tree(const fs::path& at) {
    Contents there;
    for (auto entry = fs::recursive_directory_iterator(at); entry != fs::recursive_directory_iterator(); ++entry) {
        const auto name = entry->path().lexically_relative(at).string();
        if (name.starts_with(".cinnabar-")) {
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
