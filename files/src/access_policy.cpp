// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/files/access_policy.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/rpc/callers.hpp>
#include <cinnabar/rpc/rule_lines.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

enum Right : unsigned { read_right = 1, write_right = 2, replace_right = 4, remove_right = 8, link_right = 16 };

struct RightWord {
    std::string_view word;
    unsigned rights;
};
constexpr std::array right_words{RightWord{"read", read_right},       RightWord{"write", write_right},
                                 RightWord{"replace", replace_right}, RightWord{"remove", remove_right},
                                 RightWord{"link", link_right},       RightWord{"all", 31}};

struct FolderRule {
    bool allow = false;
    std::string refusal;  // hint of the error for a denied request
    rpc::Callers clients;
    unsigned rights = 0;
    std::vector<std::string> folders;  // without a leading '/'; empty: the root

    [[nodiscard]] bool covers(std::string_view name) const noexcept {
        return std::ranges::any_of(folders, [&](const std::string& folder) {
            return folder.empty() ||
                   (name.starts_with(folder) && (name.size() == folder.size() || name[folder.size()] == '/'));
        });
    }
};

struct QuotaRule {
    rpc::Callers clients;
    Quota quota;
};

unsigned rights_for(const AccessRequest& access) noexcept {
    using Kind = AccessRequest::Kind;
    const unsigned replacing = access.replace ? unsigned{replace_right} : 0u;
    switch (access.kind) {
        case Kind::save:
        case Kind::make:
        case Kind::hard_link:
            return write_right | replacing;
        case Kind::follow:
            return write_right;
        case Kind::link:
            return link_right | replacing;
        case Kind::fetch:
        case Kind::list:
        case Kind::look:
        case Kind::list_remains:
            return read_right;
        case Kind::remove:
        case Kind::remove_remains:
            return remove_right;
    }
    return ~0u;
}

Error wrong(std::string_view hint, std::string subject) { return {Errc::invalid_argument, hint, std::move(subject)}; }

Error too_many_items() { return {Errc::too_large, "the rules of a policy name at most 16,384 clients and folders"}; }

Result<unsigned> rights_of(std::string_view list) {
    unsigned rights = 0;
    for (const std::string& item : rpc::items_of(list)) {
        const auto* const found = std::ranges::find(right_words, std::string_view(item), &RightWord::word);
        if (found == right_words.end()) return wrong("a right is read, write, replace, remove, link or all", item);
        rights |= found->rights;
    }
    if (rights == 0) return wrong("a rule names rights: read, write, replace, remove, link or all", {});
    return rights;
}

Result<std::vector<std::string>> folders_of(std::string_view list) {
    std::vector<std::string> folders;
    for (std::string& item : rpc::items_of(list)) {
        if (!item.starts_with('/')) return wrong("a folder begins with '/', which is the server's root", item);
        std::string folder = item.substr(1);
        if (folder.ends_with('/')) folder.pop_back();
        if (!folder.empty() && !check_name(folder)) return wrong("that is not a folder below the server's root", item);
        folders.push_back(std::move(folder));
    }
    if (folders.empty()) return wrong("a rule names folders; '/' is all of them", {});
    return folders;
}

// Parses a number, optionally followed by k, M, G or T. '-' gives `any`.
Result<std::uint64_t> amount_of(std::string_view text, std::uint64_t any) {
    constexpr std::string_view units = "kMGT";
    if (text == "-") return any;
    const Error none =
        wrong("a quota is a number, optionally followed by k, M, G or T, or '-' for no limit", std::string(text));
    std::uint64_t amount = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, amount);
    if (failed != std::errc()) return none;
    if (end == last) return amount;
    const auto unit = units.find(*end);
    if (unit == units.npos || end + 1 != last) return none;
    const auto bits = static_cast<unsigned>(unit + 1) * 10;
    if (amount > std::numeric_limits<std::uint64_t>::max() >> bits) return none;
    return amount << bits;
}

}  // namespace

struct AccessPolicy::Rules {
    std::vector<FolderRule> folders;
    std::vector<QuotaRule> quotas;
    std::size_t items = 0;

    [[nodiscard]] Result<void> add(std::string_view line);
    [[nodiscard]] Result<void> add_folders(const std::string& name, bool allow, rpc::Callers clients,
                                           std::string_view line);
    [[nodiscard]] Result<void> add_quota(rpc::Callers clients, std::string_view line);
};

Result<void> AccessPolicy::Rules::add(std::string_view line) {
    const std::string name(rpc::take_word(line));
    const std::string_view what = rpc::take_word(line);
    const std::vector<std::string> clients = rpc::items_of(rpc::take_word(line));
    if (!rpc::is_rule_name(name)) return wrong("a rule has a name of 1 to 64 letters, digits and \"-_.\"", name);
    if (what != "allow" && what != "deny" && what != "quota")
        return wrong(
            "a rule is a line: NAME allow|deny CLIENTS RIGHTS FOLDERS, or NAME quota CLIENTS BYTES FILES [RATE]",
            std::string(what));
    if (folders.size() + quotas.size() == rules_max) return Error{Errc::too_large, "a policy has at most 1,024 rules"};
    items += clients.size();
    if (items > items_max) return too_many_items();
    CINNABAR_TRY(rpc::Callers callers, rpc::Callers::of(clients));
    return what == "quota" ? add_quota(std::move(callers), line)
                           : add_folders(name, what == "allow", std::move(callers), line);
}

Result<void> AccessPolicy::Rules::add_folders(const std::string& name, bool allow, rpc::Callers clients,
                                              std::string_view line) {
    CINNABAR_TRY(const unsigned rights, rights_of(rpc::take_word(line)));
    CINNABAR_TRY(std::vector<std::string> covered, folders_of(rpc::take_word(line)));
    if (const std::string_view more = rpc::take_word(line); !more.empty())
        return wrong("nothing follows the folders of a rule", std::string(more));
    items += covered.size();
    if (items > items_max) return too_many_items();
    folders.push_back({allow, "the server's policy does not allow it, by the rule " + name, std::move(clients), rights,
                       std::move(covered)});
    return {};
}

Result<void> AccessPolicy::Rules::add_quota(rpc::Callers clients, std::string_view line) {
    const Quota any;
    QuotaRule rule{std::move(clients), {}};
    CINNABAR_TRY(rule.quota.bytes, amount_of(rpc::take_word(line), any.bytes));
    CINNABAR_TRY(rule.quota.files, amount_of(rpc::take_word(line), any.files));
    if (const std::string_view rate = rpc::take_word(line); !rate.empty()) {
        CINNABAR_TRY(rule.quota.bytes_per_second, amount_of(rate, any.bytes_per_second));
    }
    if (const std::string_view more = rpc::take_word(line); !more.empty())
        return wrong("nothing follows the rate of a quota", std::string(more));
    quotas.push_back(std::move(rule));
    return {};
}

AccessPolicy::AccessPolicy(std::unique_ptr<Rules> rules) noexcept : rules_(std::move(rules)) {}
AccessPolicy::~AccessPolicy() = default;

Result<std::shared_ptr<const AccessPolicy>> AccessPolicy::parse(std::string_view text, const std::string& place) {
    auto rules = std::make_unique<Rules>();
    CINNABAR_TRY_VOID(rpc::for_each_rule(text, place, [&](std::string_view line) { return rules->add(line); }));
    return std::shared_ptr<const AccessPolicy>(new AccessPolicy(std::move(rules)));
}

Result<std::shared_ptr<const AccessPolicy>> AccessPolicy::load(const std::string& path) {
    CINNABAR_TRY(const std::string text, rpc::read_rules(path));
    return parse(text, path + " line");
}

Result<void> AccessPolicy::may(const AccessRequest& access) const {
    const unsigned wanted = rights_for(access);
    for (const RightWord& each : right_words) {
        if ((each.rights & wanted) == 0 || each.word == "all") continue;
        const auto rule = std::ranges::find_if(rules_->folders, [&](const FolderRule& candidate) {
            return (candidate.rights & each.rights) != 0 && candidate.covers(access.name) &&
                   candidate.clients.include(access.client);
        });
        if (rule == rules_->folders.end())
            return Error{Errc::permission, "no rule of the server's policy allows it", std::string(each.word)};
        if (!rule->allow) return Error{Errc::permission, rule->refusal, std::string(each.word)};
    }
    return {};
}

Result<void> AccessPolicy::may_log_in(const na::Addr& client) const {
    const bool any = std::ranges::any_of(
        rules_->folders, [&](const FolderRule& rule) { return rule.allow && rule.clients.include(client); });
    if (any) return {};
    return Error{Errc::permission, "no rule of the server's policy allows this client anything"};
}

const Quota* AccessPolicy::quota_of(const na::Addr& client) const noexcept {
    const auto rule = std::ranges::find_if(
        rules_->quotas, [&](const QuotaRule& candidate) { return candidate.clients.include(client); });
    return rule == rules_->quotas.end() ? nullptr : &rule->quota;
}

}  // namespace cinnabar::files
