// SPDX-License-Identifier: BSD-3-Clause
// The folder in which processes of one host find each other: it has a socket for each name. The folder belongs to a
// user or to a group. Next to each socket is a file that the process of the socket keeps locked while it lives; an
// unlocked file shows that the process has died. Any thread.
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

// Who may use the sockets of a folder.
struct AllowedUsers {
    uid_t user = 0;
    std::optional<gid_t> group;  // if set, its members may use them as well
    std::string group_name;      // as written in the address

    // Returns the user of this process, or the group in "?group=NAME" of an address. bad_address: no such group. May
    // block while the system looks up a name: call it only to open a transport.
    [[nodiscard]] static Result<AllowedUsers> of(const na::Uri& uri);
    // As of(), but never blocks, for threads that drive a context. Knows groups by number, by names that of() has
    // looked up before, and by names in /etc/group.
    [[nodiscard]] static Result<AllowedUsers> of_known(const na::Uri& uri);
};

// A name that this process listens under. Its destructor removes the files of the name; if another process keeps the
// folder locked at that moment, the next process that listens removes them.
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
    std::string base_;  // the path of both files, without their extensions
    std::string name_;
    UniqueFd lock_;
    PeerFd socket_;
};

class Directory {
  public:
    explicit Directory(AllowedUsers allowed);

    // Creates the folder if it does not exist, removes the files of dead processes, and takes a name. An empty name
    // means the process id, followed by a number if that name is taken. address_in_use; permission: the folder belongs
    // to another user or group; busy: another process kept the folder locked for a second; io.
    [[nodiscard]] Result<NameHolder> listen(std::string_view name);
    // The path of the socket of that name.
    [[nodiscard]] std::string socket_path(std::string_view name) const;

    // Identifies this folder among the folders of all hosts, users and boots: a hash in hex digits. Empty: the folder
    // does not exist.
    [[nodiscard]] std::string tag() const;
    // Whether a socket of that name exists that this process may open.
    [[nodiscard]] bool has(std::string_view name) const;

    struct Entry {
        std::string name;
        bool alive = false;
    };
    // All names in the folder, sorted.
    [[nodiscard]] std::vector<Entry> entries() const;
    // The number of dead processes whose files listen() removed.
    [[nodiscard]] unsigned swept() const noexcept { return swept_; }
    [[nodiscard]] const AllowedUsers& allowed() const noexcept { return allowed_; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    [[nodiscard]] Result<void> make() const;
    // Both functions require that the folder is locked.
    void sweep();
    [[nodiscard]] Errc take(std::string_view name, NameHolder& out) const;

    AllowedUsers allowed_;
    std::string path_;
    unsigned swept_ = 0;
};

}  // namespace cinnabar::shm
