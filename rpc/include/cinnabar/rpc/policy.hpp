// SPDX-License-Identifier: BSD-3-Clause
// Policy: rules that say which callers may call which RPCs. A context checks the rules before the handler runs, and
// before large arguments are fetched. Rules are checked in order, and the first that matches both the caller and the
// RPC decides. If none matches, the call is refused. A refused call ends with `permission`, and its text names the
// rule.
//
// The decision for a connection and an RPC is cached, so a call costs a few instructions. A process's calls to itself
// are not checked.
//
// In text form, a rule is a line. Empty lines, and lines that begin with '#', are skipped:
//
//     # rule     what   callers                RPCs               providers; if missing, all
//     readers    allow  key:ann,cert:build-*   store.get,store.list
//     admins     allow  uid:0,gid:27           store.*            1,2
//     others     deny   anyone                 *
//
// A quota is also a line. It limits how many requests of each matching caller handlers may have at a time, over all
// connections of the caller with all contexts of the engine (hl::Node has one engine). The first quota that matches a
// caller applies. A request beyond that quota is answered `overloaded`, and the text of the answer names the quota and
// the caller, and says when to call again. A caller is identified by its proven key or certificate, otherwise by the
// user that the kernel reports, otherwise by its connection.
//
//     # quota           callers        requests  bytes     leases  lent bytes
//     robots     quota  cert:build-*   64
//     guests     quota  anyone         8         67108864
//     readers    quota  key:ann        64        -         16      1073741824
//
// Three further numbers are optional, and '-' stands for no limit:
//
//   bytes        held by these requests: large arguments and results, which do not fit in a message, and decoded
//                arguments (Request::charge_memory()). Large arguments over this limit are not fetched: their request
//                is answered `overloaded`. A result over this limit ends its call with `overloaded`.
//   leases       pieces of memory that are lent to the caller at a time: each large result, until the caller has
//                fetched it; and memory lent by calls to the caller, which are mostly calls back: each Bulk that does
//                not fit in its descriptor, each large argument, each window of a far memory transfer. Memory that
//                stays in quarantine counts until the quarantine ends. A result over this limit ends its call with
//                `overloaded`; a call to the caller that would lend more ends with `overloaded` and is not sent.
//   lent bytes   the size of these pieces of memory together.
//
// A request, a result, or a piece of memory to be lent, that alone exceeds the quota's bytes or lent bytes is
// `too_large`: trying it again is in vain.
//
// Memory that is shared by tokens (hl/share.hpp) does not count as lent to a caller. Operations on it are requests.
//
// A peer that this process has dialled is identified by the address that was dialled, whatever it proves: a quota
// matches it by `dialled` or `anyone`.
//
// callers.hpp describes the names of callers.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/callers.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::rpc {

struct AuditEvent {
    std::string caller;  // caller_name()
    std::string rpc;     // empty: a quota refused what a call to `caller` would have lent to it
    ProviderId provider = 0;
    std::string rule;  // name of the rule or quota; empty: no rule matched
    bool allowed = false;
    std::uint64_t left_out = 0;  // events of this kind (allowed or not) that were dropped since the last one
    // If a quota refused: which of its numbers was reached, "requests", "bytes", "leases" or "lent bytes"; static
    // storage. Empty: a rule decided.
    std::string_view limit;
};

class CINNABAR_API Policy {
  public:
    static constexpr std::size_t rules_max = 1'024;
    static constexpr std::size_t items_max = 16'384;  // callers, RPCs and providers of all rules together

    struct Rule {
        std::string name;  // 1 to 64 letters, digits and "-_."
        bool allow = true;
        std::vector<std::string> callers;   // in the syntax of callers.hpp
        std::vector<std::string> rpcs;      // names; a '*' at the end matches any ending
        std::vector<ProviderId> providers;  // empty: all
    };

    struct Quota {
        std::string name;                  // like that of a rule
        std::vector<std::string> callers;  // each of them is limited separately
        std::uint32_t requests_max = 0;
        std::uint64_t bytes_max = 0;       // 0: limited only by the budgets that all callers share
        std::uint32_t leases_max = 0;      // 0: no limit
        std::uint64_t lent_bytes_max = 0;  // 0: no limit
    };

    // Called when a caller first calls an RPC on a connection, and each time that a rule refuses a call, or that a
    // quota refuses a call or its memory. Events of allowed and of refused calls are each limited to a hundred at once,
    // then ten per second. Runs from trigger(), like handlers, and must be short. May be empty.
    using Audit = std::function<void(const AuditEvent&)>;

    // invalid_argument: a rule is empty, or a word is unknown, which is the subject; too_large.
    [[nodiscard]] static Result<std::shared_ptr<const Policy>> make(const std::vector<Rule>& rules, Audit audit = {},
                                                                    const std::vector<Quota>& quotas = {});
    // The subject of an error is `place` followed by the number of the line.
    [[nodiscard]] static Result<std::shared_ptr<const Policy>> parse(std::string_view text, Audit audit = {},
                                                                     const std::string& place = "line");
    // Also the errors of read_rules (rule_lines.hpp), which refuses a file that others can write to.
    [[nodiscard]] static Result<std::shared_ptr<const Policy>> load(const std::string& path, Audit audit = {});
    ~Policy();

    // The decision of a rule. Lives as long as the policy.
    struct Verdict {
        std::string name;  // of the rule
        bool allow = false;
    };
    // Any thread.
    [[nodiscard]] const Verdict& decide(const na::Addr& source, std::string_view rpc,
                                        ProviderId provider) const noexcept;

    // Null: no quota applies. Any thread.
    [[nodiscard]] const Quota* quota_of(const na::Addr& source) const noexcept;

    // An event for the audit function. Null: there is no such function, or it was called too often. Any thread.
    [[nodiscard]] std::unique_ptr<AuditEvent> event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                                    const Verdict& verdict) const noexcept;
    // The same for a call that the quota refused; `limit` as AuditEvent::limit.
    [[nodiscard]] std::unique_ptr<AuditEvent> event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                                    const Quota& refused_by, std::string_view limit) const noexcept;
    void tell(const AuditEvent& event) const;

  private:
    struct Compiled;
    explicit Policy(std::unique_ptr<Compiled> compiled) noexcept;
    [[nodiscard]] std::unique_ptr<AuditEvent> event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                                    const std::string& rule, bool allowed,
                                                    std::string_view limit) const noexcept;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace cinnabar::rpc
