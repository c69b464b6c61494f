// SPDX-License-Identifier: BSD-3-Clause
// The RDMA device that a transport uses, found by address or name. It stays open while anything is registered on it.
// Any thread.
#pragma once

#include "address.hpp"
#include "rdma_library.hpp"
#include "work_request.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/na/uri.hpp>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

namespace cinnabar::verbs {

struct ChannelDeleter {
    void operator()(rdma_event_channel* channel) const noexcept { rdma().destroy_event_channel(channel); }
};
using EventChannel = std::unique_ptr<rdma_event_channel, ChannelDeleter>;
// The channel's descriptor is non-blocking and close-on-exec.
[[nodiscard]] Result<EventChannel> make_event_channel();

struct IdDeleter {
    void operator()(rdma_cm_id* id) const noexcept { (void)rdma().destroy_id(id); }
};
using CmId = std::unique_ptr<rdma_cm_id, IdDeleter>;

class Device {
  public:
    // Opens the first device that fits the uri and has an active port; with memory windows if the uri says windows=yes.
    // unsupported: this machine has no device; permission: this process may not use the device; unreachable: no device
    // has such an address. The hint says what to do; the subject lists the addresses that were skipped and why.
    [[nodiscard]] static Result<std::shared_ptr<Device>> open(const na::Uri& uri);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] ibv_context* context() const noexcept { return anchor_->verbs; }
    [[nodiscard]] ibv_pd* pd() const noexcept { return pd_; }
    [[nodiscard]] const ibv_device_attr& limits() const noexcept { return limits_; }
    [[nodiscard]] const DeviceTraits& traits() const noexcept { return traits_; }
    // For diagnosis(). Requires: traits().windows is false.
    [[nodiscard]] const char* why_no_windows() const noexcept { return why_no_windows_; }
    // The interface's address, with the port of the uri.
    [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }
    // Returns for example "rxe1 port 1 (RoCE v2, GID index 1) at 10.0.0.2, MTU 4096, chosen by its name; passed over:
    // 10.0.0.1 (rxe0, not rxe1)".
    [[nodiscard]] std::string describe() const;

  private:
    Device() = default;
    // unreachable: no RDMA device has that address.
    [[nodiscard]] Result<void> bind(const SocketAddress& address);
    [[nodiscard]] Result<void> read_limits();
    void look_for_windows(bool wanted) noexcept;

    EventChannel channel_;
    CmId anchor_;  // keeps librdmacm's device open
    ibv_pd* pd_ = nullptr;
    ibv_device_attr limits_{};
    ibv_port_attr port_{};
    DeviceTraits traits_;
    SocketAddress address_;
    const char* why_no_windows_ = nullptr;
    std::string why_;  // why this device was chosen
};

// The names of this machine's RDMA devices; may be empty.
[[nodiscard]] std::vector<std::string> device_names();

}  // namespace cinnabar::verbs
