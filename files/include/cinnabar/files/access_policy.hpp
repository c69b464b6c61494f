// SPDX-License-Identifier: BSD-3-Clause
// Access rules: which client may do what below a server's root, and how much. Rules are checked in order; the first
// rule that matches the client, the right and the name decides. A request that a rule denies, or that no rule matches,
// fails with `permission`; the error names the rule, if there is one. A client that no rule allows anything cannot log
// in.
//
// In text form, each line is a rule. Empty lines and lines that begin with '#' are skipped:
//
//     # rule    what   clients               rights              folders, each with everything below it
//     readers   allow  key:ann,cert:build-*  read                /pub
//     writers   allow  key:ann               read,write,replace  /ann
//     admins    allow  uid:0                 all                 /
//     # rule    quota  clients               bytes  files  bytes per second; '-': no limit
//     small     quota  proven                10G    1000   -
//
// cinnabar/rpc/callers.hpp describes how clients are named. The rights:
//     read     fetch files, list folders, query entries (Client::look); on '/': list the remains of interrupted saves
//     write    save files under names that do not exist yet, make folders and hard links; a hard link requires `read`
//              for the existing file as well
//     replace  replace what has the name; requires `write` as well, or `link` for a symbolic link
//     remove   remove files, links, empty folders, and remains
//     link     make symbolic links; whoever may read the link may read anything in the root that it points to
//     all      all of the above
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace cinnabar::files {

struct AccessRequest;

// Limits for one client: how much it may save while the server runs, and its data rate.
struct Quota {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t files = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes_per_second = 0;  // 0: no limit

    [[nodiscard]] bool limits() const noexcept { return *this != Quota(); }
    friend bool operator==(const Quota&, const Quota&) = default;
};

// Immutable; any thread. Errors returned by a policy refer to its strings, so the policy must outlive them.
class CINNABAR_API AccessPolicy {
  public:
    static constexpr std::size_t rules_max = 1'024;
    static constexpr std::size_t items_max = 16'384;  // total number of clients and folders in all rules

    // invalid_argument: a line is not a valid rule; the error's subject begins with `place` and the line number.
    // too_large: more than rules_max rules or items_max items.
    [[nodiscard]] static Result<std::shared_ptr<const AccessPolicy>> parse(std::string_view text,
                                                                           const std::string& place = "line");
    // Reads and parses a file. Errors: those of parse() and rpc::read_rules(), which also fails if other users may
    // write the file.
    [[nodiscard]] static Result<std::shared_ptr<const AccessPolicy>> load(const std::string& path);
    ~AccessPolicy();

    // Checks one request. permission: it is denied; the error names the missing right, and the rule that denies it.
    [[nodiscard]] Result<void> may(const AccessRequest& access) const;
    // permission: no rule allows the client anything.
    [[nodiscard]] Result<void> may_log_in(const na::Addr& client) const;
    // The quota that the policy sets for the client; null if it sets none. Valid while the policy lives.
    [[nodiscard]] const Quota* quota_of(const na::Addr& client) const noexcept;

  private:
    struct Rules;
    explicit AccessPolicy(std::unique_ptr<Rules> rules) noexcept;
    std::unique_ptr<Rules> rules_;
};

}  // namespace cinnabar::files
