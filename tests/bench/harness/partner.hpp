// SPDX-License-Identifier: BSD-3-Clause
// The second process of a pair: the server of a figure. It exists for the whole figure and is pinned to its own core.
// It works only during a slice and is blocked otherwise, so that it does not disturb the slices of others.
//
// The child inherits the descriptors that are open when it is made, and nothing else: it runs `body` and exits without
// returning. The destructor lets a `body` that waits for a slice return, and kills it after a second. The child is also
// killed if its parent dies. Throws std::runtime_error if the system or the child fails. One thread.
#pragma once

#include "usage.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace cinnabar::bench {

// A page that both processes share.
struct SharedPage {
    std::atomic<bool> running{false};
    // A subject and its body agree on what these count. They are zeroed at the start of each slice.
    alignas(64) std::atomic<std::uint64_t> server_work{0};
    alignas(64) std::atomic<std::uint64_t> client_work{0};
    alignas(64) std::atomic<bool> client_finished{false};
    Usage server_usage{};  // of the last slice; written by the server before it reports the end of the slice
};

// The server's side, inside the child.
class PartnerSide {
  public:
    PartnerSide(SharedPage& page, int commands, int reports) : page_(page), commands_(commands), reports_(reports) {}

    // Call it once, before the first slice: sends a line to the parent, such as an address.
    void announce(const std::string& line);
    // Blocks until a slice begins; false if there will be none. The slice has begun when this returns.
    bool wait_slice();
    [[nodiscard]] bool running() const noexcept { return page_.running.load(std::memory_order_relaxed); }
    void end_slice();
    [[nodiscard]] SharedPage& page() noexcept { return page_; }

  private:
    SharedPage& page_;
    int commands_;
    int reports_;
    Usage at_begin_{};
};

class Partner {
  public:
    // Forks. `body` announces once, then serves slices until there are no more.
    Partner(int core, const std::function<void(PartnerSide&)>& body);
    ~Partner();
    Partner(const Partner&) = delete;
    Partner& operator=(const Partner&) = delete;

    [[nodiscard]] const std::string& announced() const noexcept { return announced_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] SharedPage& page() noexcept { return *page_; }

    // Wakes the server, which serves when this returns.
    void begin_slice();
    // The server leaves its loop at its next check; if it blocks, it needs an event after this call to check.
    void ask_to_stop() noexcept { page_->running.store(false, std::memory_order_relaxed); }
    // Blocks until the server has left its loop. Returns what it used in the slice.
    Usage finish_slice();

  private:
    std::string read_report(bool whole_line);
    void end() noexcept;

    SharedPage* page_ = nullptr;
    UniqueFd commands_;
    UniqueFd reports_;
    pid_t pid_ = -1;
    std::string announced_;
};

}  // namespace cinnabar::bench
