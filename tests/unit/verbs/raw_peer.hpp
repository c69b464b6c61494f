// SPDX-License-Identifier: BSD-3-Clause
// A hand-made peer, which does on its queue pair what a correct peer never does. It posts no receives, and its device
// retries for ever. Needs the kernel's software devices, as in the virtual machine of tests/vm.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace cinnabar::verbs {

class RawPeer {
  public:
    // Connects from the other end of the cable. `connected` becomes true once the library, which the test drives, has
    // answered. At most `sends_max` operations may be in flight.
    RawPeer(const std::string& from, const std::string& to, std::uint32_t sends_max = 1);
    ~RawPeer();
    RawPeer(const RawPeer&) = delete;
    RawPeer& operator=(const RawPeer&) = delete;

    std::atomic<bool> connected{false};

    // Posts `count` messages, regardless of credits.
    void burst(unsigned count);
    // Reads 8 bytes of the library's memory. The result is known once poll() returns true.
    void read(std::uint64_t address, std::uint32_t rkey);
    [[nodiscard]] bool poll(ibv_wc& done);

  private:
    rdma_cm_id* id_ = nullptr;
    ibv_mr* registered_ = nullptr;
    std::array<std::byte, 64> bytes_{};
    std::thread dial_;
};

}  // namespace cinnabar::verbs
