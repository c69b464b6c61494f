// SPDX-License-Identifier: BSD-3-Clause
// `rsync --daemon`, to which other rsyncs of a figure save, and from which they fetch.
#pragma once

#include "../harness/child.hpp"
#include "../harness/usage.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace cinnabar::bench {

inline constexpr const char* no_rsync = "rsync is not installed";
[[nodiscard]] bool has_rsync();

// Runs on a core of its own as long as this object, and reads and writes below `root`. Its configuration is next to
// `root`, and stays there.
class RsyncDaemon {
  public:
    RsyncDaemon(Cores cores, const std::filesystem::path& root);

    // "rsync://127.0.0.1:40001/there/": of `root`
    [[nodiscard]] std::string url() const;

  private:
    [[nodiscard]] std::string write_configuration(const std::filesystem::path& root) const;

    std::uint16_t port_;
    Daemon daemon_;
};

}  // namespace cinnabar::bench
