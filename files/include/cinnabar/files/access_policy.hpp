// SPDX-License-Identifier: BSD-3-Clause
// Which client may do what below a server's root, and how much: rules, asked in their order. The first that is about
// the client, the right and the name decides; where none is, the answer is `permission`, and a client that no rule
// allows anything cannot log in. The error names the rule.
//
// As text, a rule is a line. Empty lines, and those that begin with '#', say nothing:
//
//     # rule    what   clients               rights              folders, with all below them
//     readers   allow  key:ann,cert:build-*  read                /pub
//     writers   allow  key:ann               read,write,replace  /ann
//     admins    allow  uid:0                 all                 /
//     # rule    quota  clients               bytes  files  bytes a second; '-': any number
//     small     quota  proven                10G    1000   -
//
// Who clients are: cinnabar/rpc/callers.hpp. The rights:
//   read     fetch files, list folders, look at what is there; with '/', list the remains of interrupted saves
//   write    save files under names that are free, make folders and hard links
//   replace  save over what has the name already; whoever may, needs `write` as well
//   remove   remove files, links, empty folders, and remains
//   link     make symbolic links: by them whoever may read a name reads whatever in the root they lead to
//   all      all of these
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

// What one client may save while the server runs, and how fast its data moves.
struct Quota {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t files = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes_per_second = 0;  // 0: as fast as it goes

    [[nodiscard]] bool limits() const noexcept { return *this != Quota(); }
    friend bool operator==(const Quota&, const Quota&) = default;
};

// Immutable; any thread. Errors refer to it, so it outlives them.
class CINNABAR_API AccessPolicy {
  public:
    static constexpr std::size_t rules_max = 1'024;
    static constexpr std::size_t items_max = 16'384;  // clients and folders of all rules

    // invalid_argument: what is no rule, the subject, which begins with `place` and the number of its line; too_large.
    [[nodiscard]] static Result<std::shared_ptr<const AccessPolicy>> parse(std::string_view text,
                                                                           const std::string& place = "line");
    // Also the errors of rpc::read_rules: nobody else may be able to write it.
    [[nodiscard]] static Result<std::shared_ptr<const AccessPolicy>> load(const std::string& path);
    ~AccessPolicy();

    // permission, with the rule's name.
    [[nodiscard]] Result<void> may(const AccessRequest& access) const;
    // permission: no rule allows it anything.
    [[nodiscard]] Result<void> may_log_in(const na::Addr& client) const;
    // Null: no rule is about it.
    [[nodiscard]] const Quota* quota_of(const na::Addr& client) const noexcept;

  private:
    struct Rules;
    explicit AccessPolicy(std::unique_ptr<Rules> rules) noexcept;
    std::unique_ptr<Rules> rules_;
};

}  // namespace cinnabar::files
