// SPDX-License-Identifier: BSD-3-Clause
// A shell line that serves until it is destroyed, with all processes that it has begun. Throws std::runtime_error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace cinnabar::compare {

class Server {
  public:
    // What it prints goes into `output`.
    Server(const std::string& line, int core, const std::filesystem::path& output);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] bool runs() const noexcept;

  private:
    pid_t pid_ = -1;
};

// What a client printed, and how long it took. Throws where it fails, or is not done in `seconds_max`.
struct ClientRun {
    std::string output;
    double seconds = 0;
};
[[nodiscard]] ClientRun run_client(const std::string& line, int core, const std::filesystem::path& output,
                                   double seconds_max);

// Of TCP, on any address. Connects to nobody: some servers serve one client only.
[[nodiscard]] bool is_listened_on(std::uint16_t port);
[[nodiscard]] std::uint16_t free_port();

}  // namespace cinnabar::compare
