// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/parse.hpp"

#include <cinnabar/base/parse_number.hpp>

#include <algorithm>
#include <charconv>

namespace cinnabar::tools::doctor {
namespace {

constexpr std::string_view blanks = " \t\r\n";

}  // namespace

std::string trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (auto at = text.find_first_not_of(blanks); at != text.npos; at = text.find_first_not_of(blanks, at)) {
        const auto end = std::min(text.find_first_of(blanks, at), text.size());
        words.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

std::optional<std::uint64_t> number_of(std::string_view text) { return parse_number<std::uint64_t>(text); }

std::string chosen_of(std::string_view text) {
    const auto begin = text.find('[');
    const auto end = text.find(']', begin);
    if (begin == text.npos || end == text.npos) return {};
    return std::string(text.substr(begin + 1, end - begin - 1));
}

std::vector<unsigned> processors_of(std::string_view text) {
    constexpr std::uint64_t processors_max = 65'536;
    std::vector<unsigned> all;
    const std::string list = trimmed(text);
    for (std::size_t at = 0; at < list.size();) {
        const auto end = std::min(list.find(',', at), list.size());
        const auto range = std::string_view(list).substr(at, end - at);
        const auto dash = range.find('-');
        const auto first = number_of(range.substr(0, dash));
        const auto last = dash == range.npos ? first : number_of(range.substr(dash + 1));
        if (first && last && *last < processors_max) {
            for (auto i = *first; i <= *last; ++i) all.push_back(static_cast<unsigned>(i));
        }
        at = end + 1;
    }
    return all;
}

std::optional<std::string> field_of(std::string_view text, std::string_view name) {
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(at, end - at);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(":"))
            return trimmed(line.substr(name.size() + 1));
        at = end + 1;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> read_number(const Host& host, const std::string& path) {
    const auto text = host.read(path);
    return text ? number_of(trimmed(*text)) : std::nullopt;
}

std::string read_word(const Host& host, const std::string& path) { return trimmed(host.read(path).value_or("")); }

std::optional<Limit> limit_of(const Host& host, std::string_view name) {
    const auto text = host.read("/proc/self/limits");
    const auto at = text ? text->find(name) : std::string::npos;
    if (!text || at == text->npos) return std::nullopt;
    const auto end = text->find('\n', at);
    const auto words = words_of(std::string_view(*text).substr(at + name.size(), end - at - name.size()));
    if (words.size() < 2) return std::nullopt;
    const auto value = [](const std::string& word) { return number_of(word).value_or(unlimited); };
    return Limit{value(words[0]), value(words[1])};
}

bool is_capable(const Host& host, unsigned capability) {
    const auto field = field_of(host.read("/proc/self/status").value_or(""), "CapEff");
    if (!field) return false;
    std::uint64_t bits = 0;
    (void)std::from_chars(field->data(), field->data() + field->size(), bits, 16);
    return (bits >> capability & 1) != 0;
}

std::optional<std::uint64_t> user_of(const Host& host) {
    const auto field = field_of(host.read("/proc/self/status").value_or(""), "Uid");
    const auto words = words_of(field.value_or(""));
    return words.size() < 2 ? std::nullopt : number_of(words[1]);  // real, effective, saved
}

}  // namespace cinnabar::tools::doctor
