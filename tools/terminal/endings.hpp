// SPDX-License-Identifier: BSD-3-Clause
// How the sessions of one command ended. A command that gives up reports all endings, because the last error may have
// another cause than the first. One thread.
#pragma once

#include <cinnabar/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools {

class Endings {
  public:
    struct Ending {
        std::string server;
        Errc code = Errc::ok;
        std::string text;
        std::uint64_t count = 0;
    };
    // Different endings that are kept; servers supply the texts.
    static constexpr std::size_t kept_max = 8;

    void add(const std::string& server, const Error& why);
    // All sessions, also those that could not be opened.
    [[nodiscard]] std::uint64_t sessions() const noexcept { return sessions_; }
    // In the order in which each came first.
    [[nodiscard]] const std::vector<Ending>& kept() const noexcept { return kept_; }
    // Sessions whose endings are not kept.
    [[nodiscard]] std::uint64_t others() const noexcept { return others_; }
    // Whether two sessions ended in different ways.
    [[nodiscard]] bool differ() const noexcept { return kept_.size() > 1; }

  private:
    std::uint64_t sessions_ = 0;
    std::uint64_t others_ = 0;
    std::vector<Ending> kept_;
};

}  // namespace cinnabar::tools
