// SPDX-License-Identifier: BSD-3-Clause
// Who may call what: rules that a context asks before the handler runs, and before large arguments are fetched. They
// are asked in their order. The first that is about both the caller and the RPC decides; where none is, the call is
// refused. A refused call ends with `permission`, and its text names the rule.
//
// What a rule says of a connection and an RPC is remembered, so that it costs a few instructions a call. Calls of a
// process to itself are not asked about.
//
// As text, a rule is a line. Empty lines, and those that begin with '#', say nothing:
//
//     # rule     what   callers                RPCs               providers, or all of them
//     readers    allow  key:ann,cert:build-*   store.get,store.list
//     admins     allow  uid:0,gid:27           store.*            1,2
//     others     deny   anyone                 *
//
// A quota is a line as well: how many requests each of its callers may have with handlers at once, over all connections
// that it has with a context. The first that is about a caller counts; one more request is answered `overloaded`. A
// caller is who has proven a key or a certificate, a user where the kernel tells it, and else a connection.
//
//     robots     quota  cert:build-*           64
//
// Who callers are: callers.hpp.
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
    std::string who;  // caller_name()
    std::string rpc;
    ProviderId provider = 0;
    std::string rule;  // its name; empty: no rule was about it
    bool allowed = false;
    std::uint64_t left_out = 0;  // events of its kind, allowed or not, that were too many since the last one
};

class CINNABAR_API Policy {
  public:
    static constexpr std::size_t rules_max = 1'024;
    static constexpr std::size_t items_max = 16'384;  // callers, RPCs and providers of all rules

    struct Rule {
        std::string name;  // 1 to 64 letters, digits and "-_."
        bool allow = true;
        std::vector<std::string> callers;   // in the words of callers.hpp
        std::vector<std::string> rpcs;      // names; a '*' at the end stands for any ending
        std::vector<ProviderId> providers;  // empty: all
    };

    struct Quota {
        std::string name;                  // as that of a rule
        std::vector<std::string> callers;  // each of them by itself
        std::uint32_t requests_max = 0;
    };

    // Told when a caller first calls an RPC on a connection, and of each call that is refused: of either kind a hundred
    // at once, and then ten a second. From trigger(), as handlers are; it must be short. May be empty.
    using Audit = std::function<void(const AuditEvent&)>;

    // invalid_argument: a rule that says nothing, or a word that is not understood, which is the subject; too_large.
    [[nodiscard]] static Result<std::shared_ptr<const Policy>> make(const std::vector<Rule>& rules, Audit audit = {},
                                                                    const std::vector<Quota>& quotas = {});
    // The subject of an error has the number of the line, after `place`.
    [[nodiscard]] static Result<std::shared_ptr<const Policy>> parse(std::string_view text, Audit audit = {},
                                                                     const std::string& place = "line");
    // Also the errors of read_rules (rule_text.hpp): nobody else may be able to write it.
    [[nodiscard]] static Result<std::shared_ptr<const Policy>> load(const std::string& path, Audit audit = {});
    ~Policy();

    // What a rule says. Static for the life of the policy.
    struct Verdict {
        std::string name;  // of the rule
        bool allow = false;
    };
    // Any thread.
    [[nodiscard]] const Verdict& decide(const na::Addr& source, std::string_view rpc,
                                        ProviderId provider) const noexcept;

    // Null: there is none for it. Any thread.
    [[nodiscard]] const Quota* quota_of(const na::Addr& source) const noexcept;

    // Tells the audit. Null: there is none, or it was told of too many. Any thread.
    [[nodiscard]] std::unique_ptr<AuditEvent> event(const na::Addr& source, std::string_view rpc, ProviderId provider,
                                                    const Verdict& verdict) const noexcept;
    void tell(const AuditEvent& event) const;

  private:
    struct Compiled;
    explicit Policy(std::unique_ptr<Compiled> compiled) noexcept;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace cinnabar::rpc
