// SPDX-License-Identifier: BSD-3-Clause
// Checks files for changes once a second on a thread of its own, so that no event loop waits for their disk (decision
// 0062). An object may be used by any thread, but by only one at a time.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar {

class CINNABAR_API FileWatch {
  public:
    // Records the present version of the files. Read the files after this, not before; otherwise a change made in
    // between is not noticed. Empty paths are ignored.
    explicit FileWatch(std::vector<std::string> paths);
    // No check begins after this. Does not wait for a check in progress, which may still call `changed`, so that
    // function must own all that it uses.
    ~FileWatch();
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    // Call it once. `changed` runs on the thread that checks, when a path leads to another file than before, or its
    // file has changed. It returns whether it could use the new files; if it returns false or throws, it is called
    // again every second. io: the system cannot create a thread.
    [[nodiscard]] Result<void> start(std::function<bool()> changed);

  private:
    struct State;  // shared with the thread
    std::shared_ptr<State> state_;
};

}  // namespace cinnabar
