// SPDX-License-Identifier: BSD-3-Clause
// Causes each problem that the doctor can find on a host. Each test also checks that a healthy host has no such
// finding.
#include "doctor/checks.hpp"

#include "made_up_host.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::doctor {
namespace {

struct Doctor : testing::Test {
    MadeUpHost host;

    // The finding with that id; checks that it has everything that a finding needs.
    Finding found(const std::string& id) const {
        const Findings all = examine(host);
        const auto* const finding = all.find(id);
        EXPECT_NE(finding, nullptr) << id;
        if (!finding) return {};
        EXPECT_FALSE(finding->what.empty());
        if (finding->severity != Severity::good && finding->severity != Severity::note) {
            EXPECT_FALSE(finding->remedy.empty()) << finding->what;
            EXPECT_NE(finding->exit, ExitCode::ok) << finding->what;
        }
        return *finding;
    }
    void expect(const std::string& id, Severity severity, const std::string& part, ExitCode exit = ExitCode::ok) const {
        const Finding finding = found(id);
        EXPECT_EQ(finding.severity, severity) << id << ": " << finding.what;
        EXPECT_NE((finding.what + finding.remedy).find(part), std::string::npos) << finding.what << finding.remedy;
        EXPECT_EQ(finding.exit, exit) << finding.what;
    }
};

TEST_F(Doctor, AHealthyHostPassesEveryCheck) {
    const Findings found = examine(host);
    for (const auto& finding : found.all()) {
        if (finding.id == "rdma-devices") continue;  // a note: there are none
        EXPECT_EQ(finding.severity, Severity::good) << finding.id << ": " << finding.what;
    }
    EXPECT_EQ(found.exit(true), ExitCode::ok);
}

TEST_F(Doctor, AnOldKernel) {
    host.files["/proc/sys/kernel/osrelease"] = "5.4.0-216-generic\n";
    expect("kernel", Severity::problem, "openat2", ExitCode::unsuitable);
    host.files["/proc/sys/kernel/osrelease"] = "5.10.0-34-amd64\n";
    expect("kernel", Severity::warning, "up to a millisecond late", ExitCode::unsuitable);
    host.files["/proc/sys/kernel/osrelease"] = "5.11\n";
    expect("kernel", Severity::good, "5.11");
    host.files.erase("/proc/sys/kernel/osrelease");
    expect("kernel", Severity::note, "/proc");
}

TEST_F(Doctor, FewDescriptors) {
    host.files["/proc/self/limits"] = MadeUpHost::limits("1024", "1048576", "8388608", "8388608");
    expect("descriptors", Severity::warning, "ulimit -n 1048576", ExitCode::overloaded);
    host.files["/proc/self/limits"] = MadeUpHost::limits("1024", "2048", "8388608", "8388608");
    expect("descriptors", Severity::problem, "2048", ExitCode::overloaded);
    host.files.erase("/proc/self/limits");
    expect("descriptors", Severity::note, "cannot be read");
}

TEST_F(Doctor, LittleLockedMemoryForRdma) {
    host.add_device("mlx5_0");
    expect("locked-memory", Severity::good, "any amount");
    host.files["/proc/self/limits"] = MadeUpHost::limits("1048576", "1048576", "8388608", "8388608");
    expect("locked-memory", Severity::problem, "ulimit -l unlimited", ExitCode::overloaded);
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000004000", "0-1");
    expect("locked-memory", Severity::good, "CAP_IPC_LOCK");
    host.files.erase("/proc/self/limits");
    expect("locked-memory", Severity::note, "cannot be read");
}

TEST_F(Doctor, NoHugePages) {
    host.files["/sys/kernel/mm/transparent_hugepage/enabled"] = "always madvise [never]\n";
    expect("huge-pages", Severity::note, "never");
    host.files["/sys/kernel/mm/transparent_hugepage/shmem_enabled"] = "always advise [never]\n";
    expect("shared-huge-pages", Severity::warning, "shmem_enabled", ExitCode::unsuitable);
}

TEST_F(Doctor, NoRoomForSharedMemory) {
    host.spaces["/dev/shm"] = {1u << 26, 1000};
    expect("shm-room", Severity::problem, "1.00 kB free", ExitCode::no_space);
    host.spaces.clear();
    expect("shm-room", Severity::problem, "CINNABAR_SHM_DIR", ExitCode::not_found);
    host.variables["CINNABAR_SHM_DIR"] = "/elsewhere";
    host.spaces["/elsewhere"] = {1u << 30, 1u << 29};
    expect("shm-room", Severity::good, "/elsewhere");
}

TEST_F(Doctor, AFolderOfSomebodyElse) {
    host.owners["/dev/shm/cinnabar-1000"] = 1001;
    expect("shm-folder", Severity::problem, "user 1001", ExitCode::permission);
    host.owners["/dev/shm/cinnabar-1000"] = 1000;
    expect("shm-folder", Severity::good, "this user's");
}

TEST_F(Doctor, WhatDeadProcessesLeft) {
    host.owners["/dev/shm/cinnabar-1000"] = 1000;
    for (const char* const name : {"12", "34", "56"}) {
        host.files["/dev/shm/cinnabar-1000/" + std::string(name) + ".lock"] = "";
        host.files["/dev/shm/cinnabar-1000/" + std::string(name) + ".sock"] = "";
    }
    host.locked = {"/dev/shm/cinnabar-1000/34.lock"};
    expect("stale-files", Severity::note, "2 names");
    host.locked = {"/dev/shm/cinnabar-1000/12.lock", "/dev/shm/cinnabar-1000/34.lock",
                   "/dev/shm/cinnabar-1000/56.lock"};
    expect("stale-files", Severity::good, "3 names are in use");
}

TEST_F(Doctor, PtraceScope) {
    host.files["/proc/sys/kernel/yama/ptrace_scope"] = "0\n";
    expect("ptrace-scope", Severity::good, "copy");
    host.files["/proc/sys/kernel/yama/ptrace_scope"] = "1\n";
    expect("ptrace-scope", Severity::warning, "copy=across", ExitCode::permission);
    host.files["/proc/sys/kernel/yama/ptrace_scope"] = "3\n";
    expect("ptrace-scope", Severity::warning, "reboot", ExitCode::permission);
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000080000", "0-1");
    expect("ptrace-scope", Severity::good, "CAP_SYS_PTRACE");
}

TEST_F(Doctor, SmallSocketBuffers) {
    host.files["/proc/sys/net/ipv4/tcp_wmem"] = "4096 16384 262144\n";
    expect("socket-buffers", Severity::warning, "262 kB for sending", ExitCode::overloaded);
    host.files.erase("/proc/sys/net/ipv4/tcp_rmem");
    expect("socket-buffers", Severity::note, "cannot be read");
}

TEST_F(Doctor, CongestionControlThatPaces) {
    host.files["/proc/sys/net/ipv4/tcp_congestion_control"] = "bbr\n";
    expect("congestion-control", Severity::note, "bbr");
}

TEST_F(Doctor, NamesThatDoNotResolve) {
    host.names.erase("here");
    expect("host-name", Severity::warning, "/etc/hosts", ExitCode::unreachable);
    host.names["here"] = {true, 5.2, {"10.0.0.1"}};
    expect("host-name", Severity::warning, "5.2 s", ExitCode::timed_out);
    host.names.erase("localhost");
    expect("localhost", Severity::warning, "localhost", ExitCode::unreachable);
}

TEST_F(Doctor, NoRdmaDeviceIsANote) { expect("rdma-devices", Severity::note, "tcp://"); }

TEST_F(Doctor, AnRdmaDeviceThatIsUp) {
    host.add_device("mlx5_0");
    expect("rdma-devices", Severity::good, "mlx5_0");
    expect("rdma-access", Severity::good, "opened");
    expect("rdma-port", Severity::good, "1 GIDs, the first fe80:0000:0000:0000:0000:0000:0000:0001 (RoCE v2)");
}

TEST_F(Doctor, APortThatIsDown) {
    host.add_device("mlx5_0");
    host.files["/sys/class/infiniband/mlx5_0/ports/1/state"] = "1: DOWN\n";
    expect("rdma-port", Severity::warning, "1: DOWN", ExitCode::unreachable);
}

TEST_F(Doctor, APortWithoutAUsefulGid) {
    host.add_device("mlx5_0");
    host.files["/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0"] = "IB/RoCE v1\n";
    expect("rdma-gid", Severity::warning, "RoCE v1", ExitCode::unreachable);
    host.files.erase("/sys/class/infiniband/mlx5_0/ports/1/gids/0");
    expect("rdma-gid", Severity::warning, "no GID", ExitCode::unreachable);
}

TEST_F(Doctor, ADeviceThatMayNotBeOpened) {
    host.add_device("mlx5_0");
    host.forbidden = {"/dev/infiniband/uverbs0"};
    expect("rdma-access", Severity::problem, "uverbs0", ExitCode::permission);
    host.forbidden.clear();
    host.files.erase("/dev/infiniband/rdma_cm");
    expect("rdma-access", Severity::problem, "modprobe rdma_ucm", ExitCode::not_found);
    host.files.erase("/dev/infiniband/uverbs0");
    expect("rdma-access", Severity::problem, "--device=/dev/infiniband", ExitCode::not_found);
}

TEST_F(Doctor, ADeviceOnAnotherNode) {
    host.add_device("mlx5_0");
    host.files["/sys/class/infiniband/mlx5_0/device/numa_node"] = "-1\n";
    EXPECT_EQ(examine(host).find("rdma-locality"), nullptr);
    host.files["/sys/class/infiniband/mlx5_0/device/numa_node"] = "1\n";
    host.files["/sys/devices/system/node/node1/cpulist"] = "4-7\n";
    expect("rdma-locality", Severity::warning, "numactl --cpunodebind=1", ExitCode::unsuitable);
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000000000", "0-7");
    expect("rdma-locality", Severity::note, "NUMA node 1");
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000000000", "4,6-7");
    expect("rdma-locality", Severity::good, "node of this process");
}

TEST_F(Doctor, AnInterfaceOnAnotherNode) {
    host.files["/sys/class/net/eth0/operstate"] = "down\n";
    host.files["/sys/class/net/eth0/device/numa_node"] = "1\n";
    host.files["/sys/devices/system/node/node1/cpulist"] = "4-7\n";
    EXPECT_EQ(examine(host).find("nic-locality"), nullptr) << "it carries nothing";
    host.files["/sys/class/net/eth0/operstate"] = "up\n";
    expect("nic-locality", Severity::warning, "eth0 is on NUMA node 1", ExitCode::unsuitable);
    expect("nic-locality", Severity::warning, "numactl --cpunodebind=1", ExitCode::unsuitable);
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000000000", "0-7");
    expect("nic-locality", Severity::note, "from the other nodes");
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000000000", "4-5");
    expect("nic-locality", Severity::good, "node of this process");
    host.files["/sys/class/net/eth0/device/numa_node"] = "-1\n";
    EXPECT_EQ(examine(host).find("nic-locality"), nullptr) << "the machine has one node";
}

TEST_F(Doctor, ProcessorsOfOneCore) {
    host.files["/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"] = "0-1\n";
    expect("processor-pinning", Severity::warning, "threads of one core", ExitCode::overloaded);
    host.files["/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"] = "0,2\n";
    expect("processor-pinning", Severity::good, "processors 0-1");
}

TEST_F(Doctor, IsolatedProcessors) {
    host.files["/sys/devices/system/cpu/isolated"] = "0-3\n";
    expect("processor-pinning", Severity::warning, "moves no thread between them", ExitCode::overloaded);
    host.files["/sys/devices/system/cpu/isolated"] = "1-3\n";
    expect("processor-pinning", Severity::good, "processors 0-1");
}

TEST_F(Doctor, ProcessorsOfSeveralNodes) {
    host.files["/sys/devices/system/node/node0/cpulist"] = "0\n";
    host.files["/sys/devices/system/node/node1/cpulist"] = "1\n";
    expect("processor-pinning", Severity::note, "2 NUMA nodes (node0, node1)");
    expect("processor-pinning", Severity::note, "numactl");
    host.files["/sys/devices/system/node/node0/cpulist"] = "0-1\n";
    host.files["/sys/devices/system/node/node1/cpulist"] = "2-3\n";
    host.files["/sys/devices/system/cpu/online"] = "0-3\n";
    expect("processor-pinning", Severity::good, "of 4 that this host has");
}

TEST_F(Doctor, OneProcessor) {
    host.files["/proc/self/status"] = MadeUpHost::status("0000000000000000", "3");
    expect("processors", Severity::warning, "processor 3 only", ExitCode::overloaded);
    EXPECT_EQ(examine(host).find("processor-pinning"), nullptr) << "that is told already";
}

TEST_F(Doctor, AControlGroupThatBoundsTime) {
    host.files["/sys/fs/cgroup/user.slice/cpu.max"] = "50000 100000\n";
    host.files["/sys/fs/cgroup/user.slice/session/cpu.max"] = "max 100000\n";
    expect("processor-quota", Severity::warning, "0.5 processors", ExitCode::overloaded);
    host.files["/sys/fs/cgroup/user.slice/cpu.max"] = "400000 100000\n";
    expect("processor-quota", Severity::good, "allows the time of 4 processors");
    host.files["/sys/fs/cgroup/user.slice/cpu.max"] = "3200000 100000\n";
    expect("processor-quota", Severity::good, "32 processors");
    host.files["/sys/fs/cgroup/user.slice/cpu.max"] = "max 100000\n";
    expect("processor-quota", Severity::good, "no control group");
}

TEST_F(Doctor, ProcessorsThatSavePower) {
    host.files["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] = "powersave\n";
    expect("processor-speed", Severity::note, "powersave");
}

TEST_F(Doctor, StolenTime) {
    host.stat_after_pause = "cpu  110 0 50 830 0 0 0 10 0 0\n";
    expect("steal", Severity::warning, "20 %", ExitCode::overloaded);
}

TEST_F(Doctor, AClockThatJumps) {
    host.real_jumps_ms = -3000;
    expect("clock-jump", Severity::warning, "-3.000 s", ExitCode::timed_out);
}

TEST_F(Doctor, AProcessThatIsStarved) {
    host.pause_takes_ms = 300;
    expect("starved", Severity::warning, "300 ms longer", ExitCode::overloaded);
    expect("clock-jump", Severity::good, "evenly");
}

TEST_F(Doctor, AClockThatIsSlowToRead) {
    host.clock_cost = 1200;
    host.files["/sys/devices/system/clocksource/clocksource0/current_clocksource"] = "hpet\n";
    expect("clock", Severity::warning, "1200 ns (hpet)", ExitCode::unsuitable);
}

TEST_F(Doctor, TheFirstProblemIsTheExitCode) {
    host.files["/proc/sys/kernel/yama/ptrace_scope"] = "1\n";
    EXPECT_EQ(examine(host).exit(false), ExitCode::ok);
    EXPECT_EQ(examine(host).exit(true), ExitCode::permission);
    host.spaces["/dev/shm"] = {1u << 26, 0};
    EXPECT_EQ(examine(host).exit(false), ExitCode::no_space);
}

}  // namespace
}  // namespace cinnabar::tools::doctor
