// SPDX-License-Identifier: BSD-3-Clause
// A shell line that serves until it is destroyed, together with all processes that it has started. Throws
// std::runtime_error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace cinnabar::compare {

class Server {
  public:
    // Its output goes to the file `output`.
    Server(const std::string& line, int core, const std::filesystem::path& output);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    [[nodiscard]] bool runs() const noexcept;

  private:
    pid_t pid_ = -1;
};

// Runs a client; returns its output and the time that it took. Throws if it fails or is not done in `seconds_max`.
struct ClientRun {
    std::string output;
    double seconds = 0;
};
[[nodiscard]] ClientRun run_client(const std::string& line, int core, const std::filesystem::path& output,
                                   double seconds_max);

// Whether something listens on the TCP port, on any address. Does not connect, since some servers serve only one
// client.
[[nodiscard]] bool is_listened_on(std::uint16_t port);
[[nodiscard]] std::uint16_t free_port();

}  // namespace cinnabar::compare
