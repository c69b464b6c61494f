// SPDX-License-Identifier: BSD-3-Clause
// Access control: asks the policy of a context once for each connection and handler, and caches the verdict; charges
// callers with a quota for their requests and for memory lent to them. Owner of the context only, unless a function
// says otherwise.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

#include <cinnabar/rpc/policy.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace cinnabar::rpc {

class Peers;
struct RpcLend;

class Access {
  public:
    // `table`: of the engine.
    Access(ContextBase& base, Peers& peers, std::shared_ptr<const Policy> policy, CallerTable& table) noexcept
        : base_(base), peers_(peers), policy_(std::move(policy)), callers_(table) {}

    // Null: the call is allowed. Otherwise the verdict refuses the call, or the caller has a quota: pass it to obey().
    [[nodiscard]] const Policy::Verdict* refusal_of(PeerBook& book, const Handler& handler,
                                                    ProviderId provider) noexcept {
        if (!policy_ || (book.verdicts && book.verdicts->allow(handler))) [[likely]]
            return nullptr;
        return ask(book, handler, provider);
    }
    // Applies the verdict to a request that is otherwise accepted. ok: pass the request to its handler; if the caller
    // has a quota, the request was counted.
    [[nodiscard]] Errc obey(Request& request, const Policy::Verdict& verdict) noexcept;

    // If the peer has a quota, these functions charge `bytes` of memory lent to the peer, until Fences::release().
    // overloaded: the quota allows no more now. too_large: the quota never allows that much. In both cases, the text of
    // the reply, or of the call's error, names the quota. out_of_memory.
    [[nodiscard]] Errc charge(Request& request, RpcLend& lend, std::uint64_t bytes) noexcept;  // of a large result
    // Requires: the call has a book.
    [[nodiscard]] Errc charge(Call& call, RpcLend& lend, std::uint64_t bytes) noexcept {
        return policy_ ? charge_peer(call, lend, bytes) : Errc::ok;
    }
    void set(std::shared_ptr<const Policy> wanted) noexcept;  // any thread

    // Tells the audit function, if the caller's quota has just refused bytes to the request.
    void tell_refused_bytes(const Request& request) noexcept;
    // The same, for a thread that does not own the context, or that owns it inside a Receiver function.
    void note_refused_bytes(const Request& request) noexcept;
    // If the caller's quota has refused bytes to the request, explains that in the text of the reply's error. Returns
    // the size of the text; 0: nothing was refused, or there is no room. Any thread that may use the request.
    [[nodiscard]] static std::uint32_t explain_refused_bytes(Request& request) noexcept;

  private:
    [[nodiscard]] const Policy::Verdict* ask(PeerBook& book, const Handler& handler, ProviderId provider) noexcept;
    [[nodiscard]] bool begin_verdicts(PeerBook& book) noexcept;
    [[nodiscard]] Errc charge_peer(Call& call, RpcLend& lend, std::uint64_t bytes) noexcept;
    [[nodiscard]] static Errc refuse(Request& request, const Policy::Verdict& verdict) noexcept;
    [[nodiscard]] Errc refuse(Request& request, const CallerAccount& account, const QuotaRefusal& refusal) noexcept;
    void tell_refusal(const Request& request, const CallerAccount& account, const QuotaRefusal& refusal) noexcept;
    // Null: nothing is to be told.
    void tell(std::unique_ptr<AuditEvent> event) noexcept;

    ContextBase& base_;
    Peers& peers_;
    std::shared_ptr<const Policy> policy_;  // null: no policy
    CallerAccounts callers_;
};

}  // namespace cinnabar::rpc
