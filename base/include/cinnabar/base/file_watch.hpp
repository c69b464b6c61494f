// SPDX-License-Identifier: BSD-3-Clause
// Checks files for changes once a second on a thread of its own, so that no event loop waits for a disk (decision
// 0062). Any thread may use a FileWatch, but only one thread at a time.
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
    // Records the present version of the files. Read the files after constructing the FileWatch, not before; otherwise
    // a change between the two is not noticed. Empty paths are ignored.
    explicit FileWatch(std::vector<std::string> paths);
    // Ends the checks. Does not wait for a check in progress, which may still call `changed`, so `changed` must own all
    // that it uses.
    ~FileWatch();
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    // Starts the checks; call it once. `changed` is called on the checking thread when a path leads to another file
    // than before, or when the contents of a file have changed. `changed` returns whether it could use the new files;
    // if it returns false or throws, it is called again every second. io: the system cannot create a thread.
    [[nodiscard]] Result<void> start(std::function<bool()> changed);

  private:
    struct State;  // shared with the thread
    std::shared_ptr<State> state_;
};

}  // namespace cinnabar
