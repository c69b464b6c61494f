// SPDX-License-Identifier: BSD-3-Clause
#include "device.hpp"

#include "window.hpp"

#include <cinnabar/base/log.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace cinnabar::verbs {
namespace {

// The largest put or get: larger ones would delay cancellation and the detection of losses.
constexpr std::size_t rma_bytes_wanted = 4 * 1024 * 1024;
constexpr std::uint32_t read_depth_wanted = 16;
constexpr std::uint32_t vendor_of_siw = 0x62'6d74;

// The path of a device that this process may not open, and that libibverbs therefore skips. Empty: there is none.
std::string forbidden_device() {
    ibv_device** list = rdma().get_device_list(nullptr);
    std::string found;
    for (int i = 0; list && list[i] && found.empty(); ++i) {
        const std::string path = std::string("/dev/infiniband/") + list[i]->dev_name;
        if (::eaccess(path.c_str(), R_OK | W_OK) != 0 && (errno == EACCES || errno == EPERM)) found = path;
    }
    if (list) rdma().free_device_list(list);
    return found;
}

Error no_device() {
    if (::access("/sys/class/infiniband", F_OK) != 0 || device_names().empty()) {
        return Error(Errc::unsupported,
                     "no RDMA device here: load the driver of the card, or, on Ethernet, make a software one "
                     "(rdma link add rxe0 type rxe netdev eth0)");
    }
    if (const std::string path = forbidden_device(); !path.empty()) {
        return Error(Errc::permission, "no permission on an RDMA device: see its group and mode", path);
    }
    return Error(Errc::unreachable,
                 "no RDMA device has that address and an active port: see `rdma link` and `ip addr`");
}

const char* fabric_of(const ibv_context& context, const ibv_port_attr& port) {
    if (context.device->transport_type == IBV_TRANSPORT_IWARP) return "iWARP";
    return port.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE" : "InfiniBand";
}

unsigned mtu_bytes(ibv_mtu mtu) { return 128u << static_cast<unsigned>(mtu); }

// For describe(): the index of the GID that rdma_cm chose, and its version of RoCE.
std::string gid_of(const rdma_cm_id& id, const ibv_port_attr& port) {
    const ibv_gid& chosen = id.route.addr.addr.ibaddr.sgid;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(port.gid_tbl_len); ++i) {
        ibv_gid_entry entry{};
        if (rdma().query_gid_ex(id.verbs, id.port_num, i, &entry, 0, sizeof entry) != 0) continue;
        if (std::memcmp(&entry.gid, &chosen, sizeof chosen) != 0) continue;
        // The table has the same address once for each version; rdma_cm prefers v2.
        if (entry.gid_type == IBV_GID_TYPE_ROCE_V1) continue;
        return std::string(entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? " v2" : "") + ", GID index " + std::to_string(i);
    }
    return {};
}

std::string reason(const na::Uri& uri, const Wanted& wanted) {
    if (uri.host.empty()) return "chosen as the first with an address and an active port";
    return wanted.device.empty() ? "chosen by its address" : "chosen by its name";
}

std::string joined(const std::string& first, const std::string& second) {
    return first.empty() || second.empty() ? first + second : first + "; " + second;
}

// The exported function fills in all of ibv_port_attr except port_cap_flags2, which is not used here.
bool query_port(ibv_context& context, std::uint8_t number, ibv_port_attr& out) {
    out = {};
    return rdma().query_port(&context, number, reinterpret_cast<_compat_ibv_port_attr*>(&out)) == 0;
}

void keep_from_children() {
    const int why = rdma().fork_init();
    if (why == 0) return;
    log(LogLevel::warning, "verbs",
        "registered memory is not protected from fork (%s): after a fork the device may write to pages that "
        "this process no longer has. Open the network before other code registers memory, or do not fork",
        std::strerror(why));
}

}  // namespace

std::vector<std::string> device_names() {
    int count = 0;
    ibv_device** list = rdma().get_device_list(&count);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.emplace_back(rdma().get_device_name(list[i]));
    if (list) rdma().free_device_list(list);
    return names;
}

Result<EventChannel> make_event_channel() {
    EventChannel channel(rdma().create_event_channel());
    if (!channel) {
        const int why = errno;
        if (why == EACCES || why == EPERM) {
            return Error(Errc::permission, "no permission on /dev/infiniband/rdma_cm", {}, why);
        }
        return Error(Errc::unsupported, "no RDMA connection manager here: is the module rdma_ucm loaded?", {}, why);
    }
    (void)::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    (void)::fcntl(channel->fd, F_SETFD, FD_CLOEXEC);
    return channel;
}

Result<std::shared_ptr<Device>> Device::open(const na::Uri& uri) {
    CINNABAR_TRY_VOID(RdmaLibrary::load());
    const std::vector<std::string> names = device_names();
    if (names.empty()) return no_device();
    // On kernels that do not copy pinned pages for a forked child, libibverbs can keep the pages from the child. This
    // must be requested before the first registration of the process, and fails if another library has decided before.
    if (rdma().is_fork_initialized() == IBV_FORK_DISABLED) keep_from_children();
    CINNABAR_TRY(const Wanted wanted, read_address(uri, names));
    const std::string_view windows = uri.option("windows");
    if (!windows.empty() && windows != "yes" && windows != "no") {
        return Error(Errc::bad_address, "windows= is yes or no: whether keys are bound to connections",
                     std::string(windows));
    }
    if (!wanted.device.empty() && std::find(names.begin(), names.end(), wanted.device) == names.end()) {
        return Error(Errc::bad_address, "no RDMA device of that name: see `rdma link`", wanted.device);
    }
    Error failure = no_device();
    std::string passed_over;
    const auto pass_over = [&passed_over](const SocketAddress& address, std::string_view why) {
        passed_over.append(passed_over.empty() ? "passed over: " : ", ").append(address.host());
        passed_over.append(" (").append(why).append(")");
    };
    for (const SocketAddress& address : wanted.addresses) {
        std::shared_ptr<Device> device(new Device);
        if (auto bound = device->bind(address); !bound) {
            pass_over(address, bound.error().hint);
            if (bound.code() != Errc::unreachable) failure = std::move(bound).error();
            continue;
        }
        const std::string name = rdma().get_device_name(device->context()->device);
        if (!wanted.device.empty() && wanted.device != name) {
            pass_over(address, name + ", not " + wanted.device);
            continue;
        }
        if (auto read = device->read_limits(); !read) {
            pass_over(address, name + ": " + std::string(read.error().hint));
            failure = std::move(read).error();
            continue;
        }
        device->look_for_windows(windows == "yes");
        device->why_ = joined(reason(uri, wanted), passed_over);
        return device;
    }
    failure.subject = joined(failure.subject, passed_over);
    return failure;
}

Device::~Device() {
    if (pd_) (void)rdma().dealloc_pd(pd_);
}

Result<void> Device::bind(const SocketAddress& address) {
    address_ = address;
    CINNABAR_TRY(channel_, make_event_channel());
    rdma_cm_id* id = nullptr;
    if (rdma().create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
        return Error(Errc::io, "making an RDMA connection id", {}, errno);
    }
    anchor_.reset(id);
    SocketAddress any_port = address;
    any_port.set_port(0);
    if (rdma().bind_addr(id, plain(any_port)) != 0) {
        return Error(Errc::unreachable, "no RDMA device has that address", address.host(), errno);
    }
    if (!id->verbs) return Error(Errc::unreachable, "no RDMA device has that address", address.host());
    return {};
}

Result<void> Device::read_limits() {
    if (rdma().query_device(context(), &limits_) != 0 || !query_port(*context(), anchor_->port_num, port_)) {
        return Error(Errc::io, "asking the RDMA device for its limits", {}, errno);
    }
    if (port_.state != IBV_PORT_ACTIVE) {
        return Error(Errc::unreachable, "the port of the RDMA device is down: is the cable plugged, the link up?",
                     rdma().get_device_name(context()->device));
    }
    pd_ = rdma().alloc_pd(context());
    if (!pd_) return Error(errc_from_errno(errno), "making a protection domain", {}, errno);
    const auto at_least_one = [](int limit) { return static_cast<std::uint32_t>(std::max(limit, 1)); };
    traits_.iwarp = context()->device->transport_type == IBV_TRANSPORT_IWARP;
    // siw accepts another address but then uses the memory's own. Not tried with other iWARP devices.
    traits_.picks_addresses = !traits_.iwarp;
    traits_.lets_go_late = limits_.vendor_id == vendor_of_siw;
    traits_.atomics = limits_.atomic_cap != IBV_ATOMIC_NONE;
    traits_.garbles_short_messages = limits_.vendor_id == vendor_of_siw;
    traits_.send_pieces_max =
        std::min(at_least_one(limits_.max_sge), traits_.garbles_short_messages ? op_pieces_max / 2 : op_pieces_max);
    const int read_pieces = limits_.max_sge_rd > 0 ? limits_.max_sge_rd : traits_.iwarp ? 1 : limits_.max_sge;
    traits_.read_pieces_max = std::min(at_least_one(read_pieces), traits_.send_pieces_max);
    traits_.read_depth_max =
        std::min({read_depth_wanted, at_least_one(limits_.max_qp_rd_atom), at_least_one(limits_.max_qp_init_rd_atom)});
    const std::size_t message_max = port_.max_msg_sz ? port_.max_msg_sz : rma_bytes_wanted;
    traits_.rma_bytes_max = std::min(rma_bytes_wanted, message_max);
    if (limits_.max_mr_size > 0) traits_.registration_bytes_max = limits_.max_mr_size;
    // The other half of the queue pairs is for sessions that are being made or drained.
    if (limits_.max_qp > 0) traits_.connections_max = std::max(at_least_one(limits_.max_qp) / 2, 1u);
    return {};
}

// Devices that say they have windows may lack the functions for them, so one is made.
void Device::look_for_windows(bool wanted) noexcept {
    const bool has = (limits_.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) != 0 && make_window(*pd_);
    traits_.windows = has && wanted;
    why_no_windows_ = has ? "?windows=yes binds them to one" : "it has no memory windows of type 2B";
}

std::string Device::describe() const {
    const bool has_gid = !traits_.iwarp;
    std::string text = rdma().get_device_name(context()->device);
    text += " port " + std::to_string(anchor_->port_num) + " (" + fabric_of(*context(), port_);
    if (has_gid) text += gid_of(*anchor_, port_);
    text += ") at " + address_.host();
    if (has_gid) text += ", MTU " + std::to_string(mtu_bytes(port_.active_mtu));
    return text + ", " + why_;
}

}  // namespace cinnabar::verbs
