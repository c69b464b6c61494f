// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/background.hpp>
#include <cinnabar/base/file_watch.hpp>

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

namespace cinnabar {
namespace {

constexpr std::chrono::seconds look_interval{1};

// Identifies a version of the files. The change time (ctime) of a new file is new, whatever its modification time says.
std::vector<std::uint64_t> version_of(const std::vector<std::string>& paths) {
    std::vector<std::uint64_t> parts;
    for (const std::string& path : paths) {
        struct stat status {};
        if (path.empty() || ::stat(path.c_str(), &status) != 0) status = {};
        parts.push_back(status.st_dev);
        parts.push_back(status.st_ino);
        parts.push_back(static_cast<std::uint64_t>(status.st_size));
        parts.push_back(static_cast<std::uint64_t>(status.st_ctim.tv_sec));
        parts.push_back(static_cast<std::uint64_t>(status.st_ctim.tv_nsec));
    }
    return parts;
}

}  // namespace

struct FileWatch::State {
    std::vector<std::string> paths;
    std::vector<std::uint64_t> seen;  // the version in use; after start(), only the thread accesses it
    std::function<bool()> changed;
    std::mutex mutex;
    std::condition_variable ends;
    bool over = false;

    void watch() noexcept;
    void look();
};

FileWatch::FileWatch(std::vector<std::string> paths) : state_(std::make_shared<State>()) {
    state_->paths = std::move(paths);
    state_->seen = version_of(state_->paths);
}

FileWatch::~FileWatch() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->over = true;
    }
    state_->ends.notify_all();
}

Result<void> FileWatch::start(std::function<bool()> changed) {
    state_->changed = std::move(changed);
    auto of_thread = std::make_unique<std::shared_ptr<State>>(state_);
    const auto body = [](void* user) -> void* {
        const std::unique_ptr<std::shared_ptr<State>> own(static_cast<std::shared_ptr<State>*>(user));
        (*own)->watch();
        return nullptr;
    };
    if (!run_in_background(body, of_thread.get()))
        return Error(Errc::io, "cannot start the thread that checks files for changes");
    (void)of_thread.release();
    return {};
}

void FileWatch::State::watch() noexcept {
    std::unique_lock lock(mutex);
    while (!ends.wait_for(lock, look_interval, [this] { return over; })) {
        lock.unlock();
        try {
            look();
        } catch (...) {
            // Out of memory, or `changed` threw: tries again at the next interval.
        }
        lock.lock();
    }
}

void FileWatch::State::look() {
    std::vector<std::uint64_t> now = version_of(paths);
    if (now != seen && changed()) seen = std::move(now);
}

}  // namespace cinnabar
