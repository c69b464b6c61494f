// SPDX-License-Identifier: BSD-3-Clause
// Announcement: lets processes that are started together begin as a complete group, if they can exchange one line of
// text each by some means of their launcher. Each process begins with the lines of all processes, so it knows the group
// at once and does not look for the others.
//
//     Announcement mine = Announcement::make(node, options).value();
//     std::vector<std::string> all = ...;  // mine.line() of each process, by rank
//     Group group = std::move(mine).start(all, rank).value();
//
// bootstrap() with a folder, bootstrap_by_pmix() and bootstrap_by_mpi() use an Announcement. Whoever can change a line
// chooses the member of that rank.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/hl/node_ref.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cinnabar::group {

class CINNABAR_API Announcement {
  public:
    // From now on, calls from others wait until start(). Errors of Group::create().
    [[nodiscard]] static Result<Announcement> make(hl::NodeRef node, GroupOptions options = {});
    // Printable text of less than 16 KiB, usually about 200 bytes.
    [[nodiscard]] const std::string& line() const noexcept { return line_; }
    // Becomes member `self` of the group of the processes that made `lines`; all of these processes are present from
    // the start. A process that has died since is detected like any other dead member. A call of an Rpc that this
    // program does not serve yet waits for up to 5 s. If the same nodes start again with other lines, they form another
    // group.
    //
    // If lines[self] differs from line(), this process was started again after the exchange: it looks for the others
    // and takes the next incarnation of its rank, as in Group::start().
    //
    // protocol: a line is malformed. invalid_argument: there is no line for `self`, or there are more than members_max.
    // exists: this process has started already. After the first two errors, start() may be tried again with other
    // lines.
    [[nodiscard]] Result<Group> start(const std::vector<std::string>& lines, Rank self) &&;

  private:
    Announcement(std::shared_ptr<Core> core, Group group, std::string line);

    std::shared_ptr<Core> core_;
    Group group_;
    std::string line_;
};

}  // namespace cinnabar::group
