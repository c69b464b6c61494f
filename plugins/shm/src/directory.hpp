// SPDX-License-Identifier: BSD-3-Clause
// Where processes of one host find each other: a folder of sockets, one for each name, that belongs to a user, or to a
// group. Next to each socket lies a file that its process keeps locked for as long as it lives, so that what a dead one
// left is told from what is in use, without disturbing anybody. Any thread.
#pragma once

#include "peer_fd.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/uri.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::shm {

// Who may reach what lies in a folder.
struct Audience {
    uid_t user = 0;
    std::optional<gid_t> group;  // its members too
    std::string group_name;      // as it was written

    // The user of this process, or the members of "?group=NAME" of an address. bad_address: no such group. Blocks while
    // the system looks a name up, maybe over the network: only where a transport is opened.
    [[nodiscard]] static Result<Audience> of(const na::Uri& uri);
    // The same without asking anybody, for threads that drive a context: a group by its number, by a name that of()
    // has met in this process, or by its name in /etc/group.
    [[nodiscard]] static Result<Audience> of_known(const na::Uri& uri);
};

// A name that this process listens under. Gives it up when destroyed; its files stay for the next that listens where
// another process keeps the folder locked for a second.
class NameHolder {
  public:
    NameHolder() = default;
    NameHolder(NameHolder&& other) noexcept;
    NameHolder& operator=(NameHolder&& other) noexcept;
    ~NameHolder() { reset(); }

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    explicit operator bool() const noexcept { return static_cast<bool>(socket_); }

  private:
    friend class Directory;
    void reset() noexcept;
    pid_t owner_ = 0;
    std::string base_;  // of both files, without their endings
    std::string name_;
    UniqueFd lock_;
    PeerFd socket_;
};

class Directory {
  public:
    explicit Directory(Audience audience);

    // Makes the folder if need be, removes what dead processes left in it, and takes a name; an empty one stands for
    // the process id, followed by a number where that is taken. address_in_use; permission: the folder belongs to
    // somebody else; busy: another process keeps it locked, for a second; io.
    [[nodiscard]] Result<NameHolder> listen(std::string_view name);
    // Where to dial that name.
    [[nodiscard]] std::string socket_path(std::string_view name) const;

    // Tells this folder from those of other hosts, users and file systems, for as long as this host is up: hex digits
    // of the boot and of the folder. Empty when it is not there.
    [[nodiscard]] std::string tag() const;
    // Whether somebody has a socket of that name there that this process may open.
    [[nodiscard]] bool has(std::string_view name) const;

    struct Entry {
        std::string name;
        bool alive = false;
    };
    // Every name in the folder, in order.
    [[nodiscard]] std::vector<Entry> entries() const;
    // How many dead processes' leftovers listen() removed.
    [[nodiscard]] unsigned swept() const noexcept { return swept_; }
    [[nodiscard]] const Audience& audience() const noexcept { return audience_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    [[nodiscard]] Result<void> make() const;
    // Both: the folder is locked.
    void sweep();
    [[nodiscard]] Errc take(std::string_view name, NameHolder& out) const;

    Audience audience_;
    std::string path_;
    unsigned swept_ = 0;
};

}  // namespace cinnabar::shm
