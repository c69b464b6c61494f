// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar doctor` as a process in surroundings that are made bad on purpose: limits, namespaces, and files that cover
// those of /proc, /sys and /dev, so that the code that reads a host is tested too, and not only what it concludes.
//
// On the made-up host alone (checks_test.cpp), because no process can have them without changing the whole machine, or
// a test cannot without measuring time: `steal`, `clock-jump`, `starved`, `clock`, names that resolve slowly,
// `transports` (a build of which nothing opens), and ports that are up and their GIDs on real devices (tests/vm).
#include "bad_surroundings.hpp"

#include "support/folder.hpp"
#include "support/os_limits.hpp"
#include "tools/process.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace cinnabar::tools {
namespace {

constexpr uid_t somebody = 65'534;

// The JSON of the first finding with that id and severity; empty if there is none. No text has a brace.
std::string finding_of(const std::string& json, const std::string& id, const std::string& severity) {
    const auto begin = json.find("{\"id\": \"" + id + "\", \"severity\": \"" + severity + "\"");
    if (begin == json.npos) return {};
    return json.substr(begin, json.find('}', begin) + 1 - begin);
}

void expect_finding(const Outcome& outcome, const std::string& id, const std::string& severity,
                    const std::string& part) {
    const std::string finding = finding_of(outcome.out, id, severity);
    EXPECT_NE(finding.find(part), finding.npos) << id << ": " << outcome.out << outcome.err;
    if (severity == "note") return;
    EXPECT_EQ(finding.find("\"remedy\": \"\""), finding.npos) << finding;
    EXPECT_EQ(finding.find("\"exit\": 0}"), finding.npos) << finding;
}

// Limits and folders that any user can choose.
TEST(DoctorLimits, FewDescriptorsAtFirst) {
    constexpr rlim_t enough = 4096;
    if (const std::string lack = support::allow_descriptors(enough); !lack.empty()) GTEST_SKIP() << lack;
    Surroundings in;
    in.files_max = enough;
    in.files_at_first = 1024;
    expect_finding(run({"doctor", "--json"}, in), "descriptors", "warning", "1024 files may be open");
}

TEST(DoctorLimits, OneProcessor) {
    Surroundings in;
    in.prepare = keep_to_one_processor;
    expect_finding(run({"doctor", "--json"}, in), "processors", "warning", "only");
}

TEST(DoctorLimits, NoFolderForSharedMemory) {
    Surroundings in;
    in.environment = {"CINNABAR_SHM_DIR=/no/such/folder"};
    const auto outcome = run({"doctor", "--json"}, in);
    expect_finding(outcome, "shm-room", "problem", "/no/such/folder");
    EXPECT_NE(outcome.exit, 0);
}

TEST(DoctorLimits, WhatKilledProcessesLeft) {
    const support::Folder root;
    const std::string own = "cinnabar-" + std::to_string(::geteuid());
    std::filesystem::create_directory(root.path() / own);
    (void)root.put(own + "/12.lock", "");
    Surroundings in;
    in.environment = {"CINNABAR_SHM_DIR=" + root.path().string()};
    expect_finding(run({"doctor", "--json"}, in), "stale-files", "note", "1 names");
}

TEST(DoctorLimits, AProviderOfLibfabricThatIsPoor) {
    Surroundings in;
    in.environment = {"FI_PROVIDER=sockets"};
    const auto outcome = run({"doctor", "--json"}, in);
    if (finding_of(outcome.out, "transport-ofi", "good").empty())
        GTEST_SKIP() << "ofi:// does not open with the provider sockets";
    expect_finding(outcome, "ofi-provider", "warning", "ofi+sockets://");
}

// The server's shared memory is in a folder that the client does not look into.
TEST(DoctorLimits, AServerWithAnotherFolderForSharedMemory) {
    const support::Folder theirs;
    const support::Folder ours;
    Surroundings there;
    there.environment = {"CINNABAR_SHM_DIR=" + theirs.path().string()};
    Process server({"perf", "serve", "--listen", "tcp://127.0.0.1:0", "--listen", "shm://"}, there);
    const std::string line = server.read_line();
    ASSERT_EQ(line.rfind("listening on ", 0), 0u) << line << server.err();
    Surroundings here;
    here.environment = {"CINNABAR_SHM_DIR=" + ours.path().string()};
    const auto outcome = run({"doctor", "--json", line.substr(13)}, here);
    expect_finding(outcome, "server-way", "warning", "shm:// is not taken");
    EXPECT_FALSE(finding_of(outcome.out, "server-reach", "good").empty()) << outcome.out;
}

struct DoctorNamespaces : testing::Test {
    void SetUp() override {
        if (const std::string lack = lack_of_namespaces(); !lack.empty()) GTEST_SKIP() << lack;
    }
    static Outcome examine(const Surroundings& in) {
        auto outcome = run({"doctor", "--json"}, in);
        EXPECT_NE(outcome.exit, 125) << outcome.err;
        return outcome;
    }
};

TEST_F(DoctorNamespaces, SmallSocketBuffersAndAlgorithmsThatPace) {
    const support::Folder folder;
    const std::string bbr = folder.put("congestion", "bbr\n");
    Surroundings in;
    in.prepare = [bbr] {
        // A kernel without bbr refuses its name.
        const std::string algorithm = "/proc/sys/net/ipv4/tcp_congestion_control";
        return leave_namespaces() && write_setting("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 262144") &&
               (write_setting(algorithm, "bbr") || cover_file(algorithm, bbr));
    };
    const auto outcome = examine(in);
    expect_finding(outcome, "socket-buffers", "warning", "262 kB for sending");
    expect_finding(outcome, "congestion-control", "note", "bbr paces");
}

TEST_F(DoctorNamespaces, NamesThatDoNotResolve) {
    if (!std::filesystem::exists("/etc/nsswitch.conf") || !std::filesystem::exists("/etc/hosts"))
        GTEST_SKIP() << "this system looks names up otherwise";
    const support::Folder folder;
    const std::string hosts = folder.put("hosts", "127.0.0.9 another-one\n");
    const std::string order = folder.put("nsswitch.conf", "passwd: files\nhosts: files\n");
    Surroundings in;
    in.prepare = [hosts, order] {
        const std::string name = "nobody-knows-this-host";
        return leave_namespaces() && ::sethostname(name.data(), name.size()) == 0 && cover_file("/etc/hosts", hosts) &&
               cover_file("/etc/nsswitch.conf", order);
    };
    const auto outcome = examine(in);
    expect_finding(outcome, "host-name", "warning", "nobody-knows-this-host does not resolve");
    expect_finding(outcome, "localhost", "warning", "localhost does not resolve");
}

TEST_F(DoctorNamespaces, LittleRoomForSharedMemory) {
    Surroundings in;
    in.prepare = [] { return leave_namespaces() && cover_folder("/dev/shm", {}, "size=512k,mode=1777"); };
    expect_finding(examine(in), "shm-room", "problem", "no more sockets fit");
}

TEST_F(DoctorNamespaces, AFolderForSharedMemoryOfSomebodyElse) {
    Surroundings in;
    in.prepare = [] {
        return leave_namespaces() && cover_folder("/dev/shm", {{"cinnabar-0/12.lock", ""}}, "size=4m,mode=1777") &&
               ::chown("/dev/shm/cinnabar-0", somebody, somebody) == 0;
    };
    expect_finding(examine(in), "shm-folder", "problem", "belongs to user 65534");
}

TEST_F(DoctorNamespaces, AnOldKernelThatRestrictsPtrace) {
    Surroundings in;
    in.user = somebody;  // without capabilities
    in.prepare = [] {
        return leave_namespaces() && cover_folder("/proc/sys/kernel", {{"osrelease", "5.4.0-216-generic"},
                                                                       {"hostname", "localhost"},
                                                                       {"yama/ptrace_scope", "1"}});
    };
    const auto outcome = examine(in);
    expect_finding(outcome, "kernel", "problem", "no openat2");
    expect_finding(outcome, "ptrace-scope", "warning", "ptrace_scope is 1");
    EXPECT_NE(outcome.exit, 0);
}

TEST_F(DoctorNamespaces, ProcessorsAndMemoryThatAreSetUpBadly) {
    Surroundings in;
    in.prepare = [] {
        return leave_namespaces() &&
               cover_folder("/sys", {{"kernel/mm/transparent_hugepage/enabled", "always madvise [never]"},
                                     {"kernel/mm/transparent_hugepage/shmem_enabled", "always advise [never] deny"},
                                     {"fs/cgroup/cpu.max", "50000 100000"},
                                     {"devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave"},
                                     {"devices/system/cpu/isolated", "0-4095"},
                                     {"devices/system/node/node1/cpulist", "5000-5003"},
                                     {"class/net/eth9/operstate", "up"},
                                     {"class/net/eth9/device/numa_node", "1"}});
    };
    const auto outcome = examine(in);
    expect_finding(outcome, "huge-pages", "note", "never");
    expect_finding(outcome, "shared-huge-pages", "warning", "shmem_enabled is never");
    expect_finding(outcome, "processor-quota", "warning", "0.5 processors");
    expect_finding(outcome, "processor-speed", "note", "powersave");
    expect_finding(outcome, "nic-locality", "warning", "eth9 is on NUMA node 1");
    if (processors_allowed() > 1) expect_finding(outcome, "processor-pinning", "warning", "isolated");
}

// Runs as a user who may neither open the devices nor pin memory.
Surroundings with_device(const CoverFiles& device, const CoverFiles& nodes) {
    CoverFiles sys{{"class/infiniband/rxe9/device/numa_node", "1"}, {"devices/system/node/node1/cpulist", "5000-5003"}};
    for (const auto& [name, text] : device) sys.emplace_back("class/infiniband/rxe9/ports/1/" + name, text);
    Surroundings in;
    in.user = somebody;
    in.environment = {"FI_PROVIDER=tcp"};  // the others would look at the device as well
    in.prepare = [sys, nodes] {
        const rlimit little{65'536, 65'536};
        return leave_namespaces() && cover_folder("/sys", sys) && cover_folder("/dev", nodes) &&
               ::setrlimit(RLIMIT_MEMLOCK, &little) == 0;
    };
    return in;
}

TEST_F(DoctorNamespaces, AnRdmaDeviceWithoutFilesToOpen) {
    const auto outcome = examine(with_device({{"state", "1: DOWN"}}, {}));
    expect_finding(outcome, "locked-memory", "problem", "of memory may be pinned");
    expect_finding(outcome, "rdma-access", "problem", "no files to open them by");
    expect_finding(outcome, "rdma-port", "warning", "port rxe9/1 is 1: DOWN");
    expect_finding(outcome, "rdma-locality", "warning", "rxe9 is on NUMA node 1");
    expect_finding(outcome, "shm-room", "problem", "/dev/shm is not there");
}

TEST_F(DoctorNamespaces, AnRdmaDeviceThatMayNotBeOpened) {
    const auto outcome = examine(with_device({{"state", "4: ACTIVE"}, {"link_layer", "Ethernet"}},
                                             {{"infiniband/rdma_cm", ""}, {"infiniband/uverbs0", ""}}));
    expect_finding(outcome, "rdma-access", "problem", "this user may not open /dev/infiniband/");
    expect_finding(outcome, "rdma-gid", "warning", "port rxe9/1 has no GID");
}

TEST_F(DoctorNamespaces, AnRdmaDeviceThatNoRouterServes) {
    const auto outcome = examine(with_device({{"state", "4: ACTIVE"},
                                              {"link_layer", "Ethernet"},
                                              {"gids/0", "fe80:0000:0000:0000:0000:0000:0000:0001"},
                                              {"gid_attrs/types/0", "IB/RoCE v1"}},
                                             {}));
    expect_finding(outcome, "rdma-gid", "warning", "RoCE v1 only");
}

TEST_F(DoctorNamespaces, ATunnelToTheServer) {
    const OwnNetwork network(1280);
    ASSERT_TRUE(network.made());
    Process server({"perf", "serve", "--listen", "tcp://127.0.0.1:0"});
    const std::string line = server.read_line();
    ASSERT_EQ(line.rfind("listening on ", 0), 0u) << line << server.err();
    const auto outcome = run({"doctor", "--json", line.substr(13)});
    expect_finding(outcome, "server-mtu", "warning", "packets of 1280 bytes at most");
    expect_finding(outcome, "server-way", "note", "does not listen in shared memory");
}

}  // namespace
}  // namespace cinnabar::tools
