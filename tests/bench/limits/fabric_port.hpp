// SPDX-License-Identifier: BSD-3-Clause
// One libfabric endpoint as the bare programs use it: reliable datagrams, manual progress, and a queue that is polled
// in a spin and cannot be slept on. One thread. Throws std::runtime_error if libfabric fails.
#pragma once

#include "../harness/usage.hpp"
#include "fabric.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cinnabar::bench {

struct CloseFid {
    template <typename T>
    void operator()(T* object) const noexcept {
        (void)fi_close(&object->fid);
    }
};
template <typename T>
using Fid = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
    void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};

// Limits a spin: reads the clock now and then, and throws once more than `seconds` have passed.
class SpinLimit {
  public:
    SpinLimit(double seconds, const char* what) : end_(seconds_now() + seconds), what_(what) {}
    void look();

  private:
    double end_;
    const char* what_;
    unsigned looks_ = 0;
};

class FabricPort {
  public:
    explicit FabricPort(Fabric fabric);

    // A word for meet_server().
    [[nodiscard]] std::string address() const;
    // The two ends learn each other's address: the server's from the word, the client's from its first message. Each
    // function is called once, while the other end is in the other function; they wait up to 10 seconds.
    void meet_server(const std::string& address);
    void meet_client();

    // For each of these: false if the provider has no room, which poll() makes; otherwise poll() later reports
    // `context` once.
    [[nodiscard]] bool send(std::span<const std::byte> message, std::uint64_t tag, void* context);
    [[nodiscard]] bool receive(std::span<std::byte> room, std::uint64_t tag, void* context);
    [[nodiscard]] bool read(std::span<std::byte> to, std::uint64_t address, std::uint64_t key, void* context);

    // Calls `ended` with the context of each operation that has ended.
    template <typename Ended>
    void poll(Ended&& ended) {
        std::array<fi_cq_entry, 64> entries;
        const auto count = fi_cq_read(queue_.get(), entries.data(), entries.size());
        if (count == -FI_EAGAIN) return;
        if (count < 0) fail_by_queue(count);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) ended(entries[i].op_context);
    }

    // Lends memory that the other end may read while the port exists. Returns the words `address key`.
    [[nodiscard]] std::string lend(std::span<const std::byte> memory);
    // Memory that read() may write while the port exists.
    void prepare(std::span<std::byte> memory);

  private:
    [[noreturn]] void fail_by_queue(ssize_t count);
    void insert(const void* address);

    // In the order in which they are made; they are closed in reverse order.
    std::unique_ptr<fi_info, FreeInfo> info_;
    Fid<fid_fabric> fabric_;
    Fid<fid_domain> domain_;
    Fid<fid_av> addresses_;
    Fid<fid_cq> queue_;
    Fid<fid_ep> endpoint_;
    Fid<fid_mr> memory_;
    void* descriptor_ = nullptr;  // of the memory that read() writes, if the provider wants it
    fi_addr_t peer_ = FI_ADDR_UNSPEC;
};

}  // namespace cinnabar::bench
