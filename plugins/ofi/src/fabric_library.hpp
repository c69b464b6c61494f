// SPDX-License-Identifier: BSD-3-Clause
// Loads libfabric when the first ofi address is opened, so programs that use other transports do not need the library.
// The functions listed here are looked up by name; all other functions are called through the objects that these
// return.
#pragma once

#include <cinnabar/base/result.hpp>

#include <rdma/fabric.h>

#include <array>
#include <csignal>

namespace cinnabar::ofi {

struct FabricLibrary {
    // Loads the library on the first call and keeps it for the life of the process. unsupported: the library cannot be
    // loaded; the subject of the error has the loader's message. Any thread.
    [[nodiscard]] static Result<const FabricLibrary*> load();

    decltype(&::fi_getinfo) getinfo = nullptr;
    decltype(&::fi_freeinfo) freeinfo = nullptr;
    decltype(&::fi_dupinfo) dupinfo = nullptr;
    decltype(&::fi_fabric) fabric = nullptr;
    decltype(&::fi_strerror) strerror = nullptr;
};

// The library after a successful load(). Any thread.
[[nodiscard]] const FabricLibrary& fabric_library() noexcept;

// Restores, on destruction, every signal disposition that has changed since construction: some libraries that libfabric
// loads install handlers of their own.
class SignalDispositions {
  public:
    SignalDispositions() noexcept;
    ~SignalDispositions();
    SignalDispositions(const SignalDispositions&) = delete;
    SignalDispositions& operator=(const SignalDispositions&) = delete;

  private:
    struct Saved {
        bool known = false;
        struct sigaction action = {};
    };
    std::array<Saved, NSIG> saved_;
};

}  // namespace cinnabar::ofi
