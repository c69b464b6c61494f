// SPDX-License-Identifier: BSD-3-Clause
// Memory that a server lends for a whole figure. Its descriptor reaches the client as a word of the server's
// announcement. Throws std::runtime_error (or BadResult).
#pragma once

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bench {

// The server's side: lends the region for reading and writing while this object exists.
class LentRegion {
  public:
    LentRegion(std::shared_ptr<na::Transport> transport, const bulk::Region& region);
    ~LentRegion();
    LentRegion(const LentRegion&) = delete;
    LentRegion& operator=(const LentRegion&) = delete;

    [[nodiscard]] std::string word() const;

  private:
    std::shared_ptr<na::Transport> transport_;
    mutable na::Lease lease_;
};

// The client's side.
class BorrowedRegion {
  public:
    explicit BorrowedRegion(const std::string& word);
    BorrowedRegion(const BorrowedRegion&) = delete;
    BorrowedRegion& operator=(const BorrowedRegion&) = delete;

    [[nodiscard]] const bulk::RemoteRegion& remote() const noexcept { return remote_; }

  private:
    std::vector<std::byte> descriptor_;
    bulk::RemoteRegion remote_;
};

}  // namespace cinnabar::bench
