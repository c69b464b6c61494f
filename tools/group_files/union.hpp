// SPDX-License-Identifier: BSD-3-Clause
// Merges the entries that the servers of a group have in one folder or tree, by name. One thread.
#pragma once

#include <cinnabar/files/entry.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace cinnabar::tools::group_files {

// The entries with one name.
struct Found {
    files::Entry entry;               // the first one; for a folder with the newest attributes
    std::uint64_t largest_bytes = 0;  // the largest size that a server lists
    unsigned copies = 0;
    bool differ = false;         // the copies differ in kind, size, target, mode or time; contents are not read
    bool of_many_kinds = false;  // for example a file and a folder
    std::size_t last = 0;        // the last server that has it
};

// Whether `a` was modified later than `b`.
[[nodiscard]] bool is_newer(const files::Attributes& a, const files::Attributes& b) noexcept;

class Union {
  public:
    // Adds an entry that a server has listed. Counts a server once for each name, even if the server lists the name
    // again. Requires: all entries of one server are added before those of the next server.
    void add(files::Entry entry, std::size_t server);
    [[nodiscard]] const std::map<std::string, Found>& by_name() const noexcept { return by_name_; }

  private:
    std::map<std::string, Found> by_name_;
};

}  // namespace cinnabar::tools::group_files
