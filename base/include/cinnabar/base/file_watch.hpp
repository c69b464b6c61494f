// SPDX-License-Identifier: BSD-3-Clause
// Tells when files have changed, once a second, by a thread, so that no loop waits for the disk that they are on
// (decision 0062). Any thread; one at a time uses one object.
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
    // Notes what the files are now: read them afterwards, so that what is written meanwhile counts as changed. Empty
    // paths are no files.
    explicit FileWatch(std::vector<std::string> paths);
    // No call of `changed` begins from now on. One that is under way is not waited for: it owns all that it uses.
    ~FileWatch();
    FileWatch(const FileWatch&) = delete;
    FileWatch& operator=(const FileWatch&) = delete;

    // Once. `changed` runs on the thread when another file has a path, or the file itself has changed. It says whether
    // it could use what is there now; if not, or if it throws, it is called again each second. io: the system cannot
    // create a thread.
    [[nodiscard]] Result<void> start(std::function<bool()> changed);

  private:
    struct State;  // also the thread's
    std::shared_ptr<State> state_;
};

}  // namespace cinnabar
