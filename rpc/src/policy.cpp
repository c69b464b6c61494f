// SPDX-License-Identifier: BSD-3-Clause
// Decides by the rules whether a caller may call an RPC, and makes the events that the audit function is told.
#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/rpc/policy.hpp>
#include <cinnabar/rpc/rule_lines.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint32_t audit_burst = 100;
constexpr Microseconds audit_period{100'000};

const Policy::Verdict own_calls{"own", true};
const Policy::Verdict no_rule{"", false};

struct CompiledRule {
    Policy::Verdict verdict;
    Callers callers;
    std::vector<NamePattern> rpcs;
    std::vector<ProviderId> providers;

    [[nodiscard]] bool is_about(const na::Addr& source, std::string_view rpc, ProviderId provider) const noexcept {
        return std::ranges::any_of(rpcs, [&](const NamePattern& each) { return each.matches(rpc); }) &&
               (providers.empty() || std::ranges::find(providers, provider) != providers.end()) &&
               callers.include(source);
    }
};

Result<CompiledRule> compile(const Policy::Rule& rule) {
    if (!is_rule_name(rule.name))
        return Error(Errc::invalid_argument, "a rule has a name of 1 to 64 letters, digits and \"-_.\"", rule.name);
    CINNABAR_TRY(Callers callers, Callers::of(rule.callers));
    if (rule.rpcs.empty() || std::ranges::find(rule.rpcs, "") != rule.rpcs.end())
        return Error(Errc::invalid_argument, "a rule names RPCs", rule.name);
    CompiledRule compiled{{rule.name, rule.allow}, std::move(callers), {}, rule.providers};
    for (const std::string& text : rule.rpcs) compiled.rpcs.emplace_back(text);
    return compiled;
}

struct CompiledQuota {
    Policy::Quota quota;
    Callers callers;
};

Result<CompiledQuota> compile(const Policy::Quota& quota) {
    if (!is_rule_name(quota.name))
        return Error(Errc::invalid_argument, "a quota has a name of 1 to 64 letters, digits and \"-_.\"", quota.name);
    if (quota.requests_max == 0)
        return Error(Errc::invalid_argument, "a quota is at least 1: deny the others by a rule", quota.name);
    CINNABAR_TRY(Callers callers, Callers::of(quota.callers));
    return CompiledQuota{quota, std::move(callers)};
}

}  // namespace

struct Policy::Compiled {
    std::vector<CompiledRule> rules;
    std::vector<CompiledQuota> quotas;
    Audit audit;
    LogLimit allowed{audit_burst, audit_period};
    LogLimit refused{audit_burst, audit_period};
};

Policy::Policy(std::unique_ptr<Compiled> compiled) noexcept : compiled_(std::move(compiled)) {}
Policy::~Policy() = default;

Result<std::shared_ptr<const Policy>> Policy::make(const std::vector<Rule>& rules, Audit audit,
                                                   const std::vector<Quota>& quotas) {
    if (rules.size() + quotas.size() > rules_max) return Error(Errc::too_large, "a policy has at most 1,024 rules");
    std::size_t items = 0;
    for (const Rule& rule : rules) items += rule.callers.size() + rule.rpcs.size() + rule.providers.size();
    for (const Quota& quota : quotas) items += quota.callers.size();
    if (items > items_max) return Error(Errc::too_large, "the rules of a policy name at most 16,384 callers and RPCs");
    auto compiled = std::make_unique<Compiled>();
    for (const Rule& rule : rules) {
        CINNABAR_TRY(CompiledRule next, compile(rule));
        compiled->rules.push_back(std::move(next));
    }
    for (const Quota& quota : quotas) {
        CINNABAR_TRY(CompiledQuota next, compile(quota));
        compiled->quotas.push_back(std::move(next));
    }
    compiled->audit = std::move(audit);
    return std::shared_ptr<const Policy>(new Policy(std::move(compiled)));
}

const Policy::Verdict& Policy::decide(const na::Addr& source, std::string_view rpc,
                                      ProviderId provider) const noexcept {
    if (is_own_process(source)) return own_calls;
    for (const CompiledRule& rule : compiled_->rules) {
        if (rule.is_about(source, rpc, provider)) return rule.verdict;
    }
    return no_rule;
}

const Policy::Quota* Policy::quota_of(const na::Addr& source) const noexcept {
    if (compiled_->quotas.empty() || is_own_process(source)) return nullptr;
    const auto found = std::ranges::find_if(compiled_->quotas,
                                            [&](const CompiledQuota& each) { return each.callers.include(source); });
    return found == compiled_->quotas.end() ? nullptr : &found->quota;
}

std::unique_ptr<AuditEvent> Policy::event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                          const Verdict& verdict) const noexcept {
    if (&verdict == &own_calls) return nullptr;
    return event(source, rpc, provider, verdict.name, verdict.allow, {});
}

std::unique_ptr<AuditEvent> Policy::event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                          const Quota& refused_by, std::string_view limit) const noexcept {
    return event(source, rpc, provider, refused_by.name, false, limit);
}

std::unique_ptr<AuditEvent> Policy::event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                          const std::string& rule, bool allowed,
                                          std::string_view limit) const noexcept {
    if (!compiled_->audit) return nullptr;
    std::uint64_t left_out = 0;
    LogLimit& told = allowed ? compiled_->allowed : compiled_->refused;
    if (!told.admits(steady_clock().now_us(), left_out)) return nullptr;
    try {
        return std::make_unique<AuditEvent>(
            AuditEvent{caller_name(source), std::string(rpc), provider, rule, allowed, left_out, limit});
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void Policy::tell(const AuditEvent& event) const { compiled_->audit(event); }

}  // namespace cinnabar::rpc
