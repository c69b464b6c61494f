// SPDX-License-Identifier: BSD-3-Clause
// The library of a driver, opened at first use, and functions found in it by name.
#pragma once

#include <cinnabar/base/result.hpp>

#include <dlfcn.h>

#include <mutex>
#include <span>
#include <string>

namespace cinnabar::bulk {

class DriverLibrary {
  public:
    // Opens the first of these libraries that the program has already loaded, else the first library that can be
    // opened. If no library can be opened, why() returns the loader's message about the first name.
    explicit DriverLibrary(std::span<const char* const> names) {
        for (const char* name : names) {
            loaded_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
            if (loaded_) return;
        }
        for (const char* name : names) {
            loaded_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
            if (loaded_) return;
            const char* const why = ::dlerror();
            if (why_.empty()) why_ = why ? why : name;
        }
    }
    [[nodiscard]] bool is_open() const noexcept { return loaded_ != nullptr; }
    [[nodiscard]] const std::string& why() const noexcept { return why_; }
    // The first function that find() did not find. Null: all were found.
    [[nodiscard]] const char* missing() const noexcept { return missing_; }

    template <typename F>
    void find_if_there(F& function, const char* name) const noexcept {
        function = reinterpret_cast<F>(::dlsym(loaded_, name));
    }
    template <typename F>
    void find(F& function, const char* name) noexcept {
        find_if_there(function, name);
        if (!function && !missing_) missing_ = name;
    }

  private:
    void* loaded_ = nullptr;  // never closed
    std::string why_;
    const char* missing_ = nullptr;
};

// Calls `open` until it succeeds, and from then on returns that result.
template <typename Driver>
class OpenedOnce {
  public:
    template <typename F>
    [[nodiscard]] Result<const Driver*> get(F&& open) {
        const std::lock_guard lock(mutex_);
        if (started_) return started_;
        CINNABAR_TRY(started_, open());
        return started_;
    }

  private:
    std::mutex mutex_;
    const Driver* started_ = nullptr;
};

}  // namespace cinnabar::bulk
