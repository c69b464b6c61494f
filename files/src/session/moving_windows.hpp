// SPDX-License-Identifier: BSD-3-Clause
// The windows of a file that are being moved, by offset. If a connection is lost, its windows are moved again over
// another connection, but only when the server's tasks no longer move them over the lost one. Belongs to the loop.
#pragma once

#include <cstdint>
#include <set>

namespace cinnabar::files {

class MovingWindows {
  public:
    class Entry {
      public:
        Entry(MovingWindows& windows, std::uint64_t offset) : windows_(windows), at_(windows.offsets_.insert(offset)) {}
        ~Entry() { windows_.offsets_.erase(at_); }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

      private:
        MovingWindows& windows_;
        std::multiset<std::uint64_t>::iterator at_;
    };
    [[nodiscard]] bool contains(std::uint64_t offset) const { return offsets_.contains(offset); }

  private:
    std::multiset<std::uint64_t> offsets_;  // a client may send one twice; the second is refused
};

}  // namespace cinnabar::files
