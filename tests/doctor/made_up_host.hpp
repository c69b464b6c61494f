// SPDX-License-Identifier: BSD-3-Clause
// A simulated host that a test can change: healthy at first, with two processors, no RDMA, and user 1000.
#pragma once

#include "doctor/host.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace cinnabar::tools::doctor {

struct MadeUpHost : Host {
    std::map<std::string, std::string> files{
        {"/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n"},
        {"/proc/sys/kernel/hostname", "here\n"},
        {"/proc/self/limits", limits("1048576", "1048576", "8388608", "8388608")},
        {"/proc/self/status", status("0000000000000000", "0-1")},
        {"/proc/self/cgroup", "0::/user.slice/session\n"},
        {"/proc/stat", "cpu  100 0 50 800 0 0 0 0 0 0\ncpu0 1 2 3\n"},
        {"/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"},
        {"/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"},
        {"/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"},
        {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
        {"/sys/kernel/mm/transparent_hugepage/shmem_enabled", "always within_size [advise] never deny force\n"},
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    };
    std::map<std::string, std::uint64_t> owners;
    std::map<std::string, Space> spaces{{"/dev/shm", {1u << 30, 1u << 29}}};
    std::map<std::string, std::string> variables;
    std::map<std::string, Lookup> names{{"localhost", {true, 0.001, {"127.0.0.1"}}},
                                        {"here", {true, 0.001, {"10.0.0.1"}}}};
    std::map<std::string, unsigned> mtus;
    std::set<std::string> locked;
    std::set<std::string> forbidden;
    double clock_cost = 25;
    double pause_takes_ms = 0;       // in addition to the requested time
    std::int64_t real_jumps_ms = 0;  // during a pause
    std::string stat_after_pause;
    mutable std::uint64_t steady = 1'000'000'000;
    mutable std::uint64_t real = 1'700'000'000'000'000'000;
    mutable bool paused = false;

    static std::string limits(const std::string& soft_files, const std::string& hard_files,
                              const std::string& soft_locked, const std::string& hard_locked) {
        return "Limit                     Soft Limit           Hard Limit           Units     \n"
               "Max open files            " +
               soft_files + "   " + hard_files +
               "   files     \n"
               "Max locked memory         " +
               soft_locked + "   " + hard_locked + "   bytes     \n";
    }
    static std::string status(const std::string& capabilities, const std::string& processors) {
        return "Name:\tcinnabar\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t" + capabilities + "\nCpus_allowed_list:\t" +
               processors + "\n";
    }
    // Adds a device with an active RoCE v2 port that any user may open.
    void add_device(const std::string& name) {
        const std::string port = "/sys/class/infiniband/" + name + "/ports/1/";
        files[port + "state"] = "4: ACTIVE\n";
        files[port + "link_layer"] = "Ethernet\n";
        files[port + "gids/0"] = "fe80:0000:0000:0000:0000:0000:0000:0001\n";
        files[port + "gids/1"] = "0000:0000:0000:0000:0000:0000:0000:0000\n";
        files[port + "gid_attrs/types/0"] = "RoCE v2\n";
        files["/dev/infiniband/uverbs0"] = "";
        files["/dev/infiniband/rdma_cm"] = "";
        files["/proc/self/limits"] = limits("1048576", "1048576", "unlimited", "unlimited");
    }

    std::optional<std::string> read(const std::string& path) const override {
        if (path == "/proc/stat" && paused && !stat_after_pause.empty()) return stat_after_pause;
        const auto at = files.find(path);
        return at == files.end() ? std::nullopt : std::optional(at->second);
    }
    std::vector<std::string> list(const std::string& path) const override {
        std::set<std::string> found;
        for (const auto& [file, text] : files) {
            if (!file.starts_with(path + "/")) continue;
            const auto rest = file.substr(path.size() + 1);
            found.insert(rest.substr(0, rest.find('/')));
        }
        return {found.begin(), found.end()};
    }
    bool may_open(const std::string& path) const override { return !forbidden.contains(path); }
    bool is_locked(const std::string& path) const override { return locked.contains(path); }
    std::optional<std::uint64_t> owner(const std::string& path) const override {
        const auto at = owners.find(path);
        return at == owners.end() ? std::nullopt : std::optional(at->second);
    }
    std::optional<Space> space(const std::string& path) const override {
        const auto at = spaces.find(path);
        return at == spaces.end() ? std::nullopt : std::optional(at->second);
    }
    std::string environment(const std::string& name) const override {
        const auto at = variables.find(name);
        return at == variables.end() ? std::string() : at->second;
    }
    Lookup look_up(const std::string& name) const override {
        const auto at = names.find(name);
        return at == names.end() ? Lookup{} : at->second;
    }
    std::optional<unsigned> path_mtu(const std::string& name, std::uint16_t) const override {
        const auto at = mtus.find(name);
        return at == mtus.end() ? std::nullopt : std::optional(at->second);
    }
    std::uint64_t monotonic_ns() const override { return steady; }
    std::uint64_t real_ns() const override { return real; }
    double clock_cost_ns() const override { return clock_cost; }
    void pause(std::uint64_t milliseconds) const override {
        const auto passed = static_cast<std::uint64_t>((static_cast<double>(milliseconds) + pause_takes_ms) * 1e6);
        steady += passed;
        real += passed + static_cast<std::uint64_t>(real_jumps_ms * 1'000'000);
        paused = true;
    }
};

}  // namespace cinnabar::tools::doctor
