// SPDX-License-Identifier: BSD-3-Clause
#include "source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <sstream>

namespace cinnabar::tidy {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

// Where the comment or literal that begins at `at` ends (one past it); `at` itself if none begins there.
std::size_t end_of_blank(std::string_view text, std::size_t at) {
    const auto until = [&](std::string_view mark, std::size_t from) {
        const auto found = text.find(mark, from);
        return found == std::string_view::npos ? text.size() : found + mark.size();
    };
    const auto rest = text.substr(at);
    if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
    if (rest.starts_with("/*")) return until("*/", at + 2);
    if (rest.starts_with("R\"") && (at == 0 || !is_name_character(text[at - 1]))) {
        const auto open = text.find('(', at);
        if (open == std::string_view::npos) return text.size();
        return until(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
    }
    const char quote = text[at];
    // A ' between digits separates them: 1'000.
    if (quote != '"' && (quote != '\'' || (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])))))
        return at;
    for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
        if (text[i] == '\\') {
            ++i;
        } else if (text[i] == quote) {
            return i + 1;
        }
    }
    return text.size();
}

std::string blanked(std::string_view text) {
    std::string code(text);
    for (std::size_t at = 0; at < text.size();) {
        const auto line_start = text.rfind('\n', at) + 1;
        const bool include = text.substr(line_start, at - line_start).find("#include") != std::string_view::npos;
        const auto end = include && text[at] == '"' ? at : end_of_blank(text, at);
        for (std::size_t i = at; i < end; ++i) {
            if (code[i] != '\n') code[i] = ' ';
        }
        at = std::max(end, at + 1);
    }
    return code;
}

bool is_text(const std::filesystem::path& path) {
    static constexpr std::array<std::string_view, 13> endings{".cpp", ".hpp",  ".c",  ".h",  ".txt", ".cmake", ".in",
                                                              ".md",  ".json", ".py", ".sh", ".yml", ".supp"};
    const std::string ending = path.extension().string();
    if (ending.empty()) return path.filename() == "dev" || path.filename() == "run";
    return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

}  // namespace

Source::Source(std::string where, std::string_view text) : path(std::move(where)), lines(split(text)) {
    code = is_cpp() ? split(blanked(text)) : lines;
}

bool Source::is_header() const { return path.ends_with(".hpp") || path.ends_with(".h"); }
bool Source::is_cpp() const { return is_header() || path.ends_with(".cpp") || path.ends_with(".c"); }

std::string_view Source::room() const {
    const auto slash = path.find('/');
    return slash == std::string::npos ? std::string_view() : std::string_view(path).substr(0, slash);
}

std::string_view Source::corner() const {
    if (room().empty()) return {};
    const auto rest = std::string_view(path).substr(room().size() + 1);
    const auto slash = rest.find('/');
    return slash == std::string_view::npos ? std::string_view() : rest.substr(0, slash);
}

std::vector<Source> load_tree(const std::filesystem::path& root) {
    std::vector<Source> sources;
    for (auto entry = std::filesystem::recursive_directory_iterator(root); entry != end(entry); ++entry) {
        const std::string name = entry->path().filename().string();
        if (entry->is_directory()) {
            const bool hidden = name.starts_with(".") && name != ".ci";
            if (hidden || name == "corpus" || name == "build" || name.starts_with("build-")) {
                entry.disable_recursion_pending();
            }
        } else if (entry->is_regular_file() && is_text(entry->path())) {
            std::ostringstream text;
            text << std::ifstream(entry->path(), std::ios::binary).rdbuf();
            sources.emplace_back(entry->path().lexically_relative(root).generic_string(), text.str());
        }
    }
    return sources;
}

std::vector<std::string_view> names_in(std::string_view code) {
    std::vector<std::string_view> names;
    for (std::size_t at = 0; at < code.size();) {
        std::size_t end = at;
        while (end < code.size() && is_name_character(code[end])) ++end;
        if (end > at && !std::isdigit(static_cast<unsigned char>(code[at]))) names.push_back(code.substr(at, end - at));
        at = std::max(end, at + 1);
    }
    return names;
}

}  // namespace cinnabar::tidy
