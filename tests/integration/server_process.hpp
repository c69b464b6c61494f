// SPDX-License-Identifier: BSD-3-Clause
// two_process_server as a process of its own: ready when it is made, killed, if it still lives, when this goes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cinnabar::test {

class ServerProcess {
  public:
    // `arguments`: see two_process_server.cpp. It runs in the network namespace of this thread. When it does not come
    // up within half a minute, the test has failed and the address is empty.
    explicit ServerProcess(const std::vector<std::string>& arguments = {});
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    [[nodiscard]] const std::string& address() const { return address_; }
    void signal(int number) const;
    // Returns when it has stopped.
    void stop() const;
    // Sends it a signal that ends it, and returns when it is gone.
    void end(int number);

  private:
    void read_address(int fd);
    pid_t pid_ = -1;
    int stdin_ = -1;
    std::string address_;
};

}  // namespace cinnabar::test
