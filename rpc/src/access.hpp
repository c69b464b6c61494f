// SPDX-License-Identifier: BSD-3-Clause
// Access control: asks the policy of a context once for each connection and handler, and caches the verdict. Owner of
// the context only, unless it says otherwise.
#pragma once

#include "peer_book.hpp"

#include <cinnabar/rpc/policy.hpp>

#include <memory>

namespace cinnabar::rpc {

class Access {
  public:
    Access(ContextCore& core, std::shared_ptr<const Policy> policy) noexcept
        : core_(core), policy_(std::move(policy)) {}

    // Null: the call is allowed. Otherwise pass the verdict to obey(): it refuses the call, or the caller has a quota.
    [[nodiscard]] const Policy::Verdict* refusal_of(PeerBook& book, const Handler& handler,
                                                    ProviderId provider) noexcept {
        if (!policy_ || (book.verdicts && book.verdicts->allow(handler))) [[likely]]
            return nullptr;
        return ask(book, handler, provider);
    }
    // Applies the verdict to a request that is otherwise accepted. ok: pass it to its handler; if the caller has a
    // quota, the request was counted.
    [[nodiscard]] static Errc obey(Request& request, const Policy::Verdict& verdict) noexcept;
    void set(std::shared_ptr<const Policy> wanted) noexcept;  // any thread

  private:
    [[nodiscard]] const Policy::Verdict* ask(PeerBook& book, const Handler& handler, ProviderId provider) noexcept;
    void audit(const PeerBook& book, const Handler& handler, ProviderId provider,
               const Policy::Verdict& verdict) noexcept;
    [[nodiscard]] bool begin_verdicts(PeerBook& book) noexcept;
    [[nodiscard]] static Errc refuse(Request& request, const Policy::Verdict& verdict) noexcept;

    ContextCore& core_;
    std::shared_ptr<const Policy> policy_;  // null: no policy
    CallerAccounts callers_;
};

}  // namespace cinnabar::rpc
