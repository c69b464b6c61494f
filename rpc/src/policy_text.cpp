// SPDX-License-Identifier: BSD-3-Clause
// Policies as text and as files.
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/rpc/policy.hpp>
#include <cinnabar/rpc/rule_text.hpp>

#include <optional>
#include <utility>

namespace cinnabar::rpc {
namespace {

Result<Policy::Rule> rule_of(std::string_view line) {
    constexpr std::string_view form =
        "a rule is a line: NAME allow|deny CALLER[,CALLER] RPC[,RPC] [PROVIDER[,PROVIDER]]";
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
    const auto take = [&](std::string_view line) -> Result<void> {
        if (rules.size() == rules_max) return Error(Errc::too_large, "a policy has at most 1,024 rules");
        CINNABAR_TRY(Rule rule, rule_of(line));
        CINNABAR_TRY_VOID(make({rule}));  // so that the error is told with its line
        rules.push_back(std::move(rule));
        return {};
    };
    CINNABAR_TRY_VOID(for_each_rule(text, place, take));
    return make(rules, std::move(audit));
}

Result<std::shared_ptr<const Policy>> Policy::load(const std::string& path, Audit audit) {
    CINNABAR_TRY(const std::string text, read_rules(path));
    return parse(text, std::move(audit), path + " line");
}

}  // namespace cinnabar::rpc
