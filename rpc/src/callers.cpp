// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/rpc/callers.hpp>

#include <algorithm>
#include <iterator>
#include <optional>

namespace cinnabar::rpc {

bool is_own_process(const na::Addr& source) noexcept {
    if (source.empty()) return true;
    const na::AddrBody& body = source.body();
    if (source.is_connection()) return body.own;
    // Anybody can write an address, so it counts only if it has no other endpoints: then it reaches no other process.
    const auto is_self = [](std::string_view endpoint) { return endpoint.starts_with("self://"); };
    return !body.endpoints.empty() && std::ranges::all_of(body.endpoints, is_self);
}

std::string caller_name(const na::Addr& source) {
    if (const na::ProvenIdentity* const identity = source.identity())
        return (identity->by == na::ProvenIdentity::By::key ? "key:" : "cert:") + identity->name;
    if (is_own_process(source)) return "own";
    if (const auto process = source.process()) return "uid:" + std::to_string(process->uid);
    return source.is_connection() && !source.body().from.empty() ? source.body().from : source.to_string();
}

NamePattern::NamePattern(std::string_view pattern)
    : text_(pattern.substr(0, pattern.size() - (pattern.ends_with('*') ? 1 : 0))), prefix_(pattern.ends_with('*')) {}

const Callers::Word Callers::words[8] = {
    {"key:", Kind::key},      {"cert:", Kind::certificate}, {"uid:", Kind::user},       {"gid:", Kind::group},
    {"proven", Kind::proven}, {"local", Kind::local},       {"dialled", Kind::dialled}, {"anyone", Kind::anyone}};

Result<Callers> Callers::of(std::span<const std::string> texts) {
    if (texts.empty()) return Error(Errc::invalid_argument, "name callers or clients in the rule");
    Callers callers;
    for (const std::string& text : texts) {
        const Error unknown(Errc::invalid_argument,
                            "a caller is key:NAME, cert:NAME, uid:N, gid:N, proven, local, dialled or anyone", text);
        const auto* const word = std::ranges::find_if(words, [&](const Word& each) {
            return each.text.ends_with(':') ? text.starts_with(each.text) && text.size() > each.text.size()
                                            : text == each.text;
        });
        if (word == std::end(words)) return unknown;
        const std::string_view rest = std::string_view(text).substr(word->text.size());
        Pattern pattern{word->kind, NamePattern(rest)};
        if (word->kind == Kind::user || word->kind == Kind::group) {
            const auto number = parse_number<decltype(pattern.number)>(rest);
            if (!number) return unknown;
            pattern.number = *number;
        }
        callers.patterns_.push_back(std::move(pattern));
    }
    return callers;
}

bool Callers::include(const na::Addr& source) const noexcept {
    return std::ranges::any_of(patterns_, [&](const Pattern& pattern) { return matches(pattern, source); });
}

bool Callers::matches(const Pattern& pattern, const na::Addr& source) noexcept {
    const na::ProvenIdentity* const identity = source.identity();
    const std::optional<na::HostProcess> process = source.process();
    const auto has_proven = [&](na::ProvenIdentity::By by) {
        return identity && identity->by == by && pattern.name.matches(identity->name);
    };
    switch (pattern.kind) {
        case Kind::key:
            return has_proven(na::ProvenIdentity::By::key);
        case Kind::certificate:
            return has_proven(na::ProvenIdentity::By::certificate);
        case Kind::user:
            return process && process->uid == pattern.number;
        case Kind::group:
            return process && process->gid == pattern.number;
        case Kind::proven:
            return identity != nullptr;
        case Kind::local:
            return process.has_value();
        case Kind::dialled:
            return !source.is_connection();
        case Kind::anyone:
            return true;
    }
    return false;
}

}  // namespace cinnabar::rpc
