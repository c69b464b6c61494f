// SPDX-License-Identifier: BSD-3-Clause
// Makes the surroundings of a process bad on purpose: namespaces of its own, folders of made-up files that cover those
// of the system, limits. The functions that return bool are for Surroundings::prepare: they change the process that
// calls them, and set errno if they return false. Nothing is visible to other processes.
#pragma once

#include <cinnabar/base/unique_fd.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {

// Empty; or why this process cannot make namespaces and mount in them.
[[nodiscard]] std::string lack_of_namespaces();

// Enters new namespaces of mounts, names and networks. Mounts made from then on stay in there.
[[nodiscard]] bool leave_namespaces();

// Each with its path below the covered folder, and its text.
using CoverFiles = std::vector<std::pair<std::string, std::string>>;
// Covers a folder by one that has these files only. `options`: those of tmpfs.
[[nodiscard]] bool cover_folder(const std::string& folder, const CoverFiles& files,
                                const std::string& options = "mode=755");
// Covers a file by another one.
[[nodiscard]] bool cover_file(const std::string& file, const std::string& by);

[[nodiscard]] bool write_setting(const std::string& file, const std::string& text);
[[nodiscard]] bool keep_to_one_processor();
[[nodiscard]] unsigned processors_allowed();

// A network that has nothing but a loopback with this MTU. The thread that creates it is in there, and the processes
// that it starts, until it is destroyed by the same thread.
class OwnNetwork {
  public:
    explicit OwnNetwork(int mtu);
    ~OwnNetwork();
    OwnNetwork(const OwnNetwork&) = delete;
    OwnNetwork& operator=(const OwnNetwork&) = delete;
    // False: it could not be made.
    [[nodiscard]] bool made() const { return made_; }

  private:
    UniqueFd home_;
    bool entered_ = false;
    bool made_ = false;
};

}  // namespace cinnabar::tools
