// SPDX-License-Identifier: BSD-3-Clause
// Checks RDMA devices: whether their ports are up and have addresses, and whether this user may open them. Also checks
// how far these devices, and the network interfaces, are from the processors.
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cinnabar::tools::doctor {
namespace {

const std::string devices_folder = "/sys/class/infiniband";
constexpr const char* no_gid = "0000:0000:0000:0000:0000:0000:0000:0000";

// The GIDs of a port, each with its type: "fe80:...:1 (RoCE v2)".
std::vector<std::string> gids_of(const Host& host, const std::string& port) {
    std::vector<std::string> gids;
    for (const auto& index : host.list(port + "/gids")) {
        const std::string gid = read_word(host, port + "/gids/" + index);
        if (gid.empty() || gid == no_gid) continue;
        const std::string type = read_word(host, port + "/gid_attrs/types/" + index);
        gids.push_back(type.empty() ? gid : fmt::format("{} ({})", gid, type));
    }
    return gids;
}

void check_port(const Host& host, const std::string& device, const std::string& number, Findings& found) {
    const std::string port = devices_folder + "/" + device + "/ports/" + number;
    const std::string name = device + "/" + number;
    const std::string state = read_word(host, port + "/state");  // "4: ACTIVE"
    if (!state.starts_with("4:")) {
        found.warning("rdma-port", ExitCode::unreachable,
                      fmt::format("port {} is {}: verbs:// does not use it", name, state.empty() ? "unknown" : state),
                      "look at the cable, and ip link set DEVICE up; on InfiniBand a subnet manager must run");
        return;
    }
    const auto gids = gids_of(host, port);
    const bool ethernet = read_word(host, port + "/link_layer") == "Ethernet";
    const auto is_v2 = [](const std::string& gid) { return gid.find("RoCE v2") != gid.npos; };
    if (gids.empty())
        return found.warning("rdma-gid", ExitCode::unreachable, fmt::format("port {} has no GID", name),
                             "give its network interface an address: ip addr add ADDRESS/24 dev DEVICE");
    const bool rxe_or_roce =
        ethernet && std::ranges::any_of(gids, [](const auto& gid) { return gid.find("RoCE") != gid.npos; });
    if (rxe_or_roce && std::ranges::none_of(gids, is_v2))
        return found.warning("rdma-gid", ExitCode::unreachable,
                             fmt::format("port {} has GIDs of RoCE v1 only, which no router passes on", name),
                             "give its network interface an IP address, and have the device use RoCE v2");
    found.good("rdma-port", fmt::format("port {} is up, {} GIDs, the first {}", name, gids.size(), gids.front()));
}

void check_access(const Host& host, Findings& found) {
    const std::string folder = "/dev/infiniband";
    if (host.list(folder).empty())
        return found.problem(
            "rdma-access", ExitCode::not_found,
            "there are RDMA devices, but no files to open them by in /dev/infiniband",
            "modprobe -a ib_uverbs rdma_ucm; in a container pass the devices on: --device=/dev/infiniband");
    for (const auto& name : host.list(folder)) {
        const bool needed = name.starts_with("uverbs") || name == "rdma_cm";
        if (needed && !host.may_open(folder + "/" + name))
            return found.problem("rdma-access", ExitCode::permission,
                                 fmt::format("this user may not open {}/{}", folder, name),
                                 "chmod 666 by a udev rule, as rdma-core's does, or join the group that owns it");
    }
    if (!std::ranges::count(host.list(folder), "rdma_cm"))
        return found.problem("rdma-access", ExitCode::not_found,
                             "the connection manager is missing: verbs:// cannot connect", "modprobe rdma_ucm");
    found.good("rdma-access", "the devices may be opened");
}

struct Device {
    std::string id;  // of the finding
    std::string name;
    std::string folder;  // in /sys/class
};

// Reports how far a device is from the processors on which this process may run.
void judge_locality(const Host& host, const Device& device, const std::vector<unsigned>& allowed, Findings& found) {
    const auto node = read_number(host, device.folder + "/device/numa_node");
    if (!node) return;  // a software device, or a machine with one node (-1)
    const auto near = processors_of(read_word(host, fmt::format("/sys/devices/system/node/node{}/cpulist", *node)));
    if (near.empty() || allowed.empty()) return;
    const auto is_near = [&near](unsigned processor) { return std::ranges::count(near, processor) > 0; };
    const auto remedy = fmt::format("numactl --cpunodebind={0} --membind={0} PROGRAM", *node);
    if (std::ranges::none_of(allowed, is_near))
        found.warning(device.id, ExitCode::unsuitable,
                      fmt::format("{} is on NUMA node {}, and this process may only run on others", device.name, *node),
                      remedy);
    else if (!std::ranges::all_of(allowed, is_near))
        found.note(device.id,
                   fmt::format("{} is on NUMA node {}; from the other nodes a call takes longer", device.name, *node),
                   remedy);
    else
        found.good(device.id, fmt::format("{} is on the node of this process", device.name));
}

}  // namespace

void check_devices(const Host& host, Findings& found) {
    const auto devices = host.list(devices_folder);
    if (devices.empty())
        return found.note("rdma-devices", "no RDMA device: use tcp:// and shm://, not verbs://",
                          "software RDMA for tests: rdma link add rxe0 type rxe netdev DEVICE");
    found.good("rdma-devices", fmt::format("{}", fmt::join(devices, ", ")));
    check_access(host, found);
    for (const auto& device : devices) {
        for (const auto& port : host.list(devices_folder + "/" + device + "/ports"))
            check_port(host, device, port, found);
    }
}

void check_locality(const Host& host, Findings& found) {
    const auto field = field_of(host.read("/proc/self/status").value_or(""), "Cpus_allowed_list");
    const auto allowed = processors_of(field.value_or(""));
    for (const auto& name : host.list(devices_folder))
        judge_locality(host, {"rdma-locality", name, devices_folder + "/" + name}, allowed, found);
    const std::string interfaces = "/sys/class/net";
    for (const auto& name : host.list(interfaces)) {
        // One that carries nothing is near enough.
        if (read_word(host, interfaces + "/" + name + "/operstate") == "up")
            judge_locality(host, {"nic-locality", name, interfaces + "/" + name}, allowed, found);
    }
}

}  // namespace cinnabar::tools::doctor
