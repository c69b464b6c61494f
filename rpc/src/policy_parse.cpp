// SPDX-License-Identifier: BSD-3-Clause
// Policy::parse() and load(): makes the rules and quotas of a policy from the lines of a text (rule_lines.hpp).
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/rpc/policy.hpp>
#include <cinnabar/rpc/rule_lines.hpp>

#include <optional>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::string_view form =
    "a rule is a line: NAME allow|deny CALLER[,CALLER] RPC[,RPC] [PROVIDER[,PROVIDER]], or NAME quota "
    "CALLER[,CALLER] REQUESTS [BYTES [LEASES [LENT-BYTES]]]";

// Takes the next word of a quota: a number, or '-' or nothing for no limit, which leaves `limit` at 0.
template <typename Number>
Result<void> take_limit(std::string_view& line, Number& limit, std::string_view wrong) {
    const std::string_view text = take_word(line);
    if (text.empty() || text == "-") return {};
    const auto number = parse_number<Number>(text);
    if (!number || *number == 0) return Error(Errc::invalid_argument, wrong, std::string(text));
    limit = *number;
    return {};
}

// Parses a line whose second word is "quota".
Result<Policy::Quota> quota_from(std::string_view line) {
    Policy::Quota quota;
    quota.name = take_word(line);
    (void)take_word(line);
    quota.callers = items_of(take_word(line));
    const std::string_view number = take_word(line);
    const auto requests = parse_number<decltype(quota.requests_max)>(number);
    if (!requests) return Error(Errc::invalid_argument, "a quota is a number of requests", std::string(number));
    quota.requests_max = *requests;
    CINNABAR_TRY_VOID(take_limit(line, quota.bytes_max,
                                 "the bytes of a quota are a number from 1; without it, or as -, they have no limit"));
    CINNABAR_TRY_VOID(take_limit(line, quota.leases_max,
                                 "the leases of a quota are a number from 1; without it, or as -, they have no limit"));
    CINNABAR_TRY_VOID(
        take_limit(line, quota.lent_bytes_max,
                   "the lent bytes of a quota are a number from 1; without it, or as -, they have no limit"));
    if (const std::string_view more = take_word(line); !more.empty())
        return Error(Errc::invalid_argument, form, std::string(more));
    return quota;
}

bool is_quota(std::string_view line) {
    (void)take_word(line);
    return take_word(line) == "quota";
}

Result<Policy::Rule> rule_of(std::string_view line) {
    Policy::Rule rule;
    rule.name = take_word(line);
    const std::string_view what = take_word(line);
    if (what != "allow" && what != "deny") return Error(Errc::invalid_argument, form, std::string(what));
    rule.allow = what == "allow";
    rule.callers = items_of(take_word(line));
    rule.rpcs = items_of(take_word(line));
    for (const std::string& text : items_of(take_word(line))) {
        const auto provider = parse_number<ProviderId>(text);
        if (!provider) return Error(Errc::invalid_argument, "a provider is a number from 0 to 65535", text);
        rule.providers.push_back(*provider);
    }
    if (const std::string_view more = take_word(line); !more.empty())
        return Error(Errc::invalid_argument, form, std::string(more));
    return rule;
}

}  // namespace

Result<std::shared_ptr<const Policy>> Policy::parse(std::string_view text, Audit audit, const std::string& place) {
    std::vector<Rule> rules;
    std::vector<Quota> quotas;
    const auto take = [&](std::string_view line) -> Result<void> {
        if (rules.size() + quotas.size() == rules_max)
            return Error(Errc::too_large, "a policy has at most 1,024 rules");
        if (is_quota(line)) {
            CINNABAR_TRY(Quota quota, quota_from(line));
            CINNABAR_TRY_VOID(make({}, {}, {quota}));
            quotas.push_back(std::move(quota));
            return {};
        }
        CINNABAR_TRY(Rule rule, rule_of(line));
        CINNABAR_TRY_VOID(make({rule}));  // checks each rule separately, so that the error names its line
        rules.push_back(std::move(rule));
        return {};
    };
    CINNABAR_TRY_VOID(for_each_rule(text, place, take));
    return make(rules, std::move(audit), quotas);
}

Result<std::shared_ptr<const Policy>> Policy::load(const std::string& path, Audit audit) {
    CINNABAR_TRY(const std::string text, read_rules(path));
    return parse(text, std::move(audit), path + " line");
}

}  // namespace cinnabar::rpc
