// SPDX-License-Identifier: BSD-3-Clause
#include "access.hpp"

#include "fences.hpp"
#include "peers.hpp"

#include <cinnabar/base/log.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <string_view>
#include <utility>

namespace cinnabar::rpc {

namespace {

const Policy::Verdict no_account{"(none: no memory for its quota)", false};

using RefusalText = std::array<char, 256>;  // at most this much of an error's text is sent

// Writes the pieces as the text of the reply's error, and returns its size; 0: there is no room, or no reply.
std::uint32_t write_text(Request& request, std::initializer_list<std::string_view> pieces) noexcept {
    if (request.one_way()) return 0;
    ByteWriter writer(request.output_room());
    writer.u32(0);
    for (const std::string_view piece : pieces) writer.bytes(as_bytes(piece));
    return writer.ok() ? static_cast<std::uint32_t>(writer.size()) : 0;
}

}  // namespace

// If there is no memory for the cache, the policy is asked for each request.
const Policy::Verdict* Access::ask(PeerBook& book, const Handler& handler, ProviderId provider) noexcept {
    if (handler.by_key) return nullptr;
    if (!book.verdicts && !book.counted && !begin_verdicts(book)) return &no_account;
    Verdicts* const verdicts = book.counted ? &book.counted->verdicts : book.verdicts.get();
    Verdicts::Entry* const entry = verdicts ? &verdicts->entry_of(handler) : nullptr;
    const bool known = entry && entry->handler == &handler;
    const Policy::Verdict& verdict =
        known ? *entry->verdict : policy_->decide(book.peer->addr(), handler.name, provider);
    if (entry) *entry = {&handler, &verdict};
    if (!known || !verdict.allow) tell(policy_->event(book.peer->addr(), handler.name, provider, verdict));
    return verdict.allow && !book.counted ? nullptr : &verdict;
}

// False: the caller has a quota, but there is no memory to count its requests.
bool Access::begin_verdicts(PeerBook& book) noexcept {
    const Policy::Quota* const quota = policy_->quota_of(book.peer->addr());
    if (!quota) {
        book.verdicts.reset(new (std::nothrow) Verdicts);
        return true;
    }
    auto account = callers_.of(book.peer->addr(), *quota);
    if (account) book.counted.reset(new (std::nothrow) CountedCaller{std::move(account), {}});
    return book.counted != nullptr;
}

Errc Access::obey(Request& request, const Policy::Verdict& verdict) noexcept {
    if (!verdict.allow) return refuse(request, verdict);
    const std::shared_ptr<CallerAccount>& account = request.book_->counted->account;
    QuotaRefusal refusal;
    if (!account->take_request(&refusal)) return refuse(request, *account, refusal);
    request.go_whole_way();
    request.counted_by_ = account;
    return Errc::ok;
}

// Runs the audit function from trigger(), because it is user code.
void Access::tell(std::unique_ptr<AuditEvent> event) noexcept {
    struct Told {
        WorkItem work;
        std::shared_ptr<const Policy> policy;
        std::unique_ptr<AuditEvent> event;
    };
    if (!event) return;
    auto* told = new (std::nothrow) Told{{}, policy_, std::move(event)};
    if (!told) return;
    told->work.user = told;
    told->work.run = [](WorkItem& work) noexcept {
        const std::unique_ptr<Told> mine(static_cast<Told*>(work.user));
        mine->policy->tell(*mine->event);
    };
    base_.na->enqueue(told->work);
}

// The text of the reply names the rule.
Errc Access::refuse(Request& request, const Policy::Verdict& verdict) noexcept {
    static constinit LogLimit lines;
    const std::string_view name = verdict.name;
    log_limited(lines, LogLevel::warning, "rpc",
                {peer_field(request.source_), rpc_field(request.handler_->name), error_field(Errc::permission)},
                "%s may not call %s (%s%s)", request.source_.log_name().c_str(), request.handler_->name.c_str(),
                name.empty() ? "no rule allows it" : "rule ", verdict.name.c_str());
    request.output_bytes_ = write_text(request, {name.empty() ? "no rule allows it" : "by the rule ", name});
    return Errc::permission;
}

Errc Access::refuse(Request& request, const CallerAccount& account, const QuotaRefusal& refusal) noexcept {
    tell_refusal(request, account, refusal);
    RefusalText text{};
    request.output_bytes_ = write_text(request, {std::string_view(text.data(), account.explain(refusal, text))});
    return refusal.code();
}

void Access::tell_refusal(const Request& request, const CallerAccount& account, const QuotaRefusal& refusal) noexcept {
    if (base_.closed_ || !policy_ || !account.quota()) return;
    const std::string_view limit = to_string(refusal.limit);
    tell(policy_->event(request.source_, request.handler_->name, request.provider_, *account.quota(), limit));
}

void Access::tell_refused_bytes(const Request& request) noexcept {
    if (!request.counted_by_ || request.whole_.refusal.limit == QuotaLimit::none) return;
    tell_refusal(request, *request.counted_by_, request.whole_.refusal);
}

void Access::note_refused_bytes(const Request& request) noexcept {
    if (!request.counted_by_ || request.whole_.refusal.limit == QuotaLimit::none) return;
    base_.owned([&] { tell_refused_bytes(request); });
}

std::uint32_t Access::explain_refused_bytes(Request& request) noexcept {
    if (!request.whole_way() || !request.counted_by_) return 0;
    const QuotaRefusal& refusal = request.whole_.refusal;
    if (refusal.limit == QuotaLimit::none) return 0;
    RefusalText text{};
    const std::size_t bytes = request.counted_by_->explain(refusal, text);
    return write_text(request, {std::string_view(text.data(), bytes)});
}

Errc Access::charge(Request& request, RpcLend& lend, std::uint64_t bytes) noexcept {
    const std::shared_ptr<CallerAccount>& account = request.counted_by_;
    if (!account) return Errc::ok;
    QuotaRefusal refusal;
    if (!account->take_lease(bytes, &refusal)) return refuse(request, *account, refusal);
    lend.charge(account, bytes);
    return Errc::ok;
}

// Looks for the quota here, because the peer may not have called yet. The text of a refusal is written into the message
// of the call, which will not be sent.
Errc Access::charge_peer(Call& call, RpcLend& lend, std::uint64_t bytes) noexcept {
    PeerBook& book = *call.book_;
    if (!book.verdicts && !book.counted && !begin_verdicts(book)) return Errc::out_of_memory;
    if (!book.counted) return Errc::ok;
    const std::shared_ptr<CallerAccount>& account = book.counted->account;
    QuotaRefusal refusal;
    if (account->take_lease(bytes, &refusal)) {
        lend.charge(account, bytes);
        return Errc::ok;
    }
    tell(policy_->event(book.peer->addr(), {}, 0, *account->quota(), to_string(refusal.limit)));
    RefusalText text{};
    ByteWriter writer(call.input_room());
    writer.bytes(as_bytes(std::string_view(text.data(), account->explain(refusal, text))));
    if (writer.ok()) call.whole_.app_text = as_text(writer.written());
    return refusal.code();
}

void Access::set(std::shared_ptr<const Policy> wanted) noexcept {
    base_.owned([&] {
        policy_.swap(wanted);
        peers_.books.for_each([](PeerBook& book) {
            book.verdicts.reset();
            book.counted.reset();
        });
        callers_.follow(policy_.get());  // their quotas are those of the earlier policy, which may be freed now
    });
}

}  // namespace cinnabar::rpc
