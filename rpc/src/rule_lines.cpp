// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/rpc/rule_lines.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::string_view blanks = " \t\r";

Error rules_failure(std::string_view what, const std::string& path) {
    const int why = errno;
    return Error(errc_from_errno(why), what, path, why);
}

Result<void> check_owner(const struct stat& status, const std::string& path) {
    if (!S_ISREG(status.st_mode)) return Error(Errc::invalid_argument, "the policy is not a regular file", path);
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
        return Error(Errc::permission, "another user owns it: chown it", path);
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return Error(Errc::permission, "others can write the policy: run chmod go-w on it", path);
    return {};
}

}  // namespace

bool is_rule_name(std::string_view name) noexcept {
    constexpr std::size_t bytes_max = 64;
    return !name.empty() && name.size() <= bytes_max && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

std::string_view take_word(std::string_view& line) noexcept {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

std::vector<std::string> items_of(std::string_view list) {
    std::vector<std::string> items;
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        items.emplace_back(item);
        list.remove_prefix(std::min(item.size() + 1, list.size()));
    }
    return items;
}

Result<void> for_each_rule(std::string_view text, const std::string& place,
                           const std::function<Result<void>(std::string_view)>& take) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        std::string_view rest = line;
        const std::string_view word = take_word(rest);
        if (word.empty() || word.starts_with('#')) continue;
        if (Result<void> taken = take(line); !taken) {
            Error error = std::move(taken).error();
            error.subject = place + ' ' + std::to_string(number) + (error.subject.empty() ? "" : ": ") + error.subject;
            return error;
        }
    }
    return {};
}

Result<std::string> read_rules(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return rules_failure("cannot open the policy", path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return rules_failure("cannot read the attributes of the policy", path);
    CINNABAR_TRY_VOID(check_owner(status, path));
    std::string text(rule_text_bytes_max + 1, '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t count = ::read(file.get(), text.data() + have, text.size() - have);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return rules_failure("cannot read the policy", path);
        if (count == 0) break;
        have += static_cast<std::size_t>(count);
    }
    if (have == text.size()) return Error(Errc::too_large, "a policy has at most 1 MiB", path);
    text.resize(have);
    return text;
}

}  // namespace cinnabar::rpc
