// SPDX-License-Identifier: BSD-3-Clause
// Runs two_process_server as a child process. It is ready after construction; the destructor kills it if it still
// lives.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cinnabar::test {

class ServerProcess {
  public:
    // `arguments`: see two_process_server.cpp. The process runs in the network namespace of this thread. If it is not
    // ready within 30 seconds, the test fails and the address is empty.
    explicit ServerProcess(const std::vector<std::string>& arguments = {});
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    [[nodiscard]] const std::string& address() const { return address_; }
    void signal(int number) const;
    // Suspends the process (SIGSTOP) and returns when it has stopped.
    void stop() const;
    // Sends a signal that terminates the process, and returns when it has exited.
    void end(int number);

  private:
    void read_address(int fd);
    pid_t pid_ = -1;
    int stdin_ = -1;
    std::string address_;
};

}  // namespace cinnabar::test
