// SPDX-License-Identifier: BSD-3-Clause
// Rules that say which client may do what below a server's root, and how much. They are checked in order. The first
// rule that matches the client, the right and the name decides. If none matches, the answer is `permission`. A client
// to which no rule allows anything cannot log in. The error names the rule.
//
// In text form, a rule is a line. Empty lines, and lines that begin with '#', are skipped:
//
//     # rule    what   clients               rights              folders, with all below them
//     readers   allow  key:ann,cert:build-*  read                /pub
//     writers   allow  key:ann               read,write,replace  /ann
//     admins    allow  uid:0                 all                 /
//     # rule    quota  clients               bytes  files  bytes per second; '-': no limit
//     small     quota  proven                10G    1000   -
//
// cinnabar/rpc/callers.hpp describes the names of clients. The rights:
//     read     fetch files, list folders, look at what is there; with '/', list the remains of interrupted saves
//     write    save files under free names, make folders and hard links
//     replace  save over an existing name; needs `write` as well
//     remove   remove files, links, empty folders, and remains
//     link     make symbolic links; whoever may read such a name can read whatever in the root it leads to
//     all      all of these
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

// How much one client may save while the server runs, and how fast its data moves.
struct Quota {
    std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t files = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes_per_second = 0;  // 0: no limit

    [[nodiscard]] bool limits() const noexcept { return *this != Quota(); }
    friend bool operator==(const Quota&, const Quota&) = default;
};

// Immutable; any thread. Its errors refer to it, so it must outlive them.
class CINNABAR_API AccessPolicy {
  public:
    static constexpr std::size_t rules_max = 1'024;
    static constexpr std::size_t items_max = 16'384;  // clients and folders of all rules together

    // invalid_argument: something is not a rule; the subject begins with `place` and the number of the line; too_large.
    [[nodiscard]] static Result<std::shared_ptr<const AccessPolicy>> parse(std::string_view text,
                                                                           const std::string& place = "line");
    // Also the errors of rpc::read_rules: nobody else may be able to write the file.
    [[nodiscard]] static Result<std::shared_ptr<const AccessPolicy>> load(const std::string& path);
    ~AccessPolicy();

    // permission, with the name of the rule.
    [[nodiscard]] Result<void> may(const AccessRequest& access) const;
    // permission: no rule allows it anything.
    [[nodiscard]] Result<void> may_log_in(const na::Addr& client) const;
    // Null: no quota applies.
    [[nodiscard]] const Quota* quota_of(const na::Addr& client) const noexcept;

  private:
    struct Rules;
    explicit AccessPolicy(std::unique_ptr<Rules> rules) noexcept;
    std::unique_ptr<Rules> rules_;
};

}  // namespace cinnabar::files
