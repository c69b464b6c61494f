// SPDX-License-Identifier: BSD-3-Clause
// Who may call what, as a context asks its policy: once for each connection and handler, which it remembers.
#include "context_core.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <new>
#include <string_view>

namespace cinnabar::rpc {

// Null: it may be called. Where memory is out, the policy is asked each time.
const Policy::Verdict* ContextCore::ask_policy(PeerBook& book, const Handler& handler, ProviderId provider) noexcept {
    if (handler.by_key) return nullptr;
    if (!book.verdicts) book.verdicts.reset(new (std::nothrow) Verdicts);
    Verdicts::Place* const place = book.verdicts ? &book.verdicts->place_of(handler) : nullptr;
    const bool known = place && place->handler == &handler;
    const Policy::Verdict& verdict =
        known ? *place->verdict : policy->decide(book.peer->addr(), handler.name, provider);
    if (place) *place = {&handler, &verdict};
    if (!known || !verdict.allow) audit(book, handler, provider, verdict);
    return verdict.allow ? nullptr : &verdict;
}

// The sink is the program's, so it is told from trigger.
void ContextCore::audit(const PeerBook& book, const Handler& handler, ProviderId provider,
                        const Policy::Verdict& verdict) noexcept {
    struct Told {
        Work work;
        std::shared_ptr<const Policy> policy;
        std::unique_ptr<AuditEvent> event;
    };
    auto event = policy->event(book.peer->addr(), handler.name, provider, verdict);
    if (!event) return;
    auto* told = new (std::nothrow) Told{{}, policy, std::move(event)};
    if (!told) return;
    told->work.user = told;
    told->work.run = [](Work& work) noexcept {
        const std::unique_ptr<Told> mine(static_cast<Told*>(work.user));
        mine->policy->tell(*mine->event);
    };
    na->enqueue(told->work);
}

// The reply's text names the rule.
Errc ContextCore::refuse_by_rule(Request& request, const Policy::Verdict& verdict) noexcept {
    static constinit LogLimit lines;
    const std::string_view name = verdict.name;
    log_limited(lines, LogLevel::warning, "rpc", "%s may not call %s (%s%s)", request.source_.log_name().c_str(),
                request.handler_->name.c_str(), name.empty() ? "no rule allows it" : "rule ", verdict.name.c_str());
    if (request.one_way_) return Errc::permission;
    Writer writer(request.output_room());
    writer.u32(0);
    writer.bytes(as_bytes(name.empty() ? std::string_view("no rule allows it") : std::string_view("by the rule ")));
    writer.bytes(as_bytes(name));
    request.output_bytes_ = writer.ok() ? static_cast<std::uint32_t>(writer.size()) : 0;
    return Errc::permission;
}

void ContextCore::set_policy(std::shared_ptr<const Policy> wanted) noexcept {
    owned([&] {
        policy.swap(wanted);
        books.for_each([](PeerBook& book) { book.verdicts.reset(); });
    });
}

}  // namespace cinnabar::rpc
