// SPDX-License-Identifier: BSD-3-Clause
// The errors if RDMA cannot be used, and the diagnosis if it can.
#include "support/recording_receiver.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/plugins/verbs.hpp>

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::verbs {
namespace {

Result<std::unique_ptr<na::Transport>> open(const std::string& text, const na::TransportOptions& options = {}) {
    return plugin_info.open(na::Uri::parse(text).value(), options);
}

// Needs the kernel's software devices, as in the virtual machine of tests/vm.
bool tested_here() {
    return std::filesystem::exists("/sys/class/infiniband/rxe0") &&
           std::filesystem::exists("/sys/class/infiniband/siw0");
}

TEST(Verbs, WithoutADeviceItSaysWhatToDo) {
    if (tested_here()) GTEST_SKIP() << "there is a device";
    const auto opened = open("verbs://");
    ASSERT_FALSE(opened);
    EXPECT_TRUE(opened.code() == Errc::unsupported || opened.code() == Errc::unreachable) << opened.error().message();
    EXPECT_NE(opened.error().message().find("rdma link"), std::string::npos) << opened.error().message();
}

TEST(Verbs, InvalidLimitsAreRefusedFirst) {
    EXPECT_EQ(open("verbs://", {.message_bytes_max = 2 * 1024 * 1024}).code(), Errc::invalid_argument);
}

TEST(Verbs, TheDiagnosisNamesDeviceFabricAndLimit) {
    if (!tested_here()) GTEST_SKIP() << "no RDMA device here";
    const std::string text = open("verbs://rxe0").value()->diagnosis();
    for (const char* part : {"rxe0 port 1", "RoCE v2", "GID index", "MTU", "locked memory"}) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    const std::string iwarp = open("verbs://siw0").value()->diagnosis();
    EXPECT_NE(iwarp.find("iWARP"), std::string::npos) << iwarp;
    EXPECT_EQ(open("verbs://127.0.0.1").code(), Errc::unreachable);
    EXPECT_EQ(open("verbs://nodev/r0:0").code(), Errc::bad_address);
}

// The address in the key of a lease with one segment, where it follows the checksum and the count.
std::uint64_t lent_at(na::Transport& transport, na::Memory& memory) {
    na::Lease lease;
    lease.memory = &memory;
    lease.bytes = memory.bytes();
    lease.access = na::Access::read_write;
    EXPECT_EQ(transport.grant(lease), Errc::ok);
    std::vector<std::byte> key(transport.described_bytes(lease));
    ByteWriter writer(key);
    transport.describe(lease, writer);
    EXPECT_EQ(transport.revoke(lease), Errc::ok);
    ByteReader reader(key);
    (void)reader.u64();
    return reader.u64();
}

TEST(Verbs, LentMemoryHasASecretAddress) {
    if (!tested_here()) GTEST_SKIP() << "no RDMA device here";
    std::vector<std::byte> room(100'000);
    const na::Segment segment{room.data(), room.size()};
    const auto own = reinterpret_cast<std::uintptr_t>(room.data());
    constexpr std::uint64_t page = 1u << 21;
    const auto transport = open("verbs://rxe0").value();
    const auto memory = transport->register_memory({&segment, 1}, na::Access::read_write).value();
    const std::uint64_t first = lent_at(*transport, *memory);
    const std::uint64_t second = lent_at(*transport, *memory);
    EXPECT_NE(first / page, own / page);
    EXPECT_NE(second / page, first / page);
    EXPECT_EQ(first % page, own % page);
    EXPECT_NE(transport->diagnosis().find("secret addresses"), std::string::npos);
    EXPECT_FALSE(transport->caps().guessable_keys);
    const auto iwarp = open("verbs://siw0").value();
    const auto there = iwarp->register_memory({&segment, 1}, na::Access::read_write).value();
    EXPECT_EQ(lent_at(*iwarp, *there), own);
    EXPECT_NE(iwarp->diagnosis().find("guess"), std::string::npos);
    EXPECT_TRUE(iwarp->caps().guessable_keys);
}

TEST(Verbs, TheDiagnosisSaysWhereKeysAreValid) {
    if (!tested_here()) GTEST_SKIP() << "no RDMA device here";
    const auto expect = [](const char* address, bool confines, const char* part) {
        const auto transport = open(address).value();
        EXPECT_EQ(transport->caps().confines, confines) << address;
        EXPECT_FALSE(transport->caps().admits_guests) << address;
        EXPECT_NE(transport->diagnosis().find(part), std::string::npos) << transport->diagnosis();
    };
    expect("verbs://rxe0", false,
           "valid for every connection of the context (?windows=yes binds them to one; verbss://");
    expect("verbs://rxe0?windows=yes", true, "bound to the connection of the peer");
    expect("verbs://rxe0?windows=no", false, "valid for every connection of the context (?windows=yes");
    expect("verbs://siw0", false, "valid for every connection of the context (it has no memory windows of type 2B;");
    const auto wrong = open("verbs://rxe0?windows=maybe");
    EXPECT_EQ(wrong.code(), Errc::bad_address);
    EXPECT_NE(wrong.error().message().find("yes or no"), std::string::npos) << wrong.error().message();
}

TEST(Verbs, TheDiagnosisSaysWhyTheDeviceWasChosen) {
    if (!tested_here()) GTEST_SKIP() << "no RDMA device here";
    const auto diagnosis = [](const char* text) { return open(text).value()->diagnosis(); };
    const auto says = [](const std::string& text, const char* part) {
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    says(diagnosis("verbs://"), "chosen as the first with an address and an active port");
    says(diagnosis("verbs://10.81.0.2"), "chosen by its address");
    says(diagnosis("verbs://siw1"), "chosen by its name; passed over: ");
    says(diagnosis("verbs://siw1"), "10.81.0.1 (rxe0, not siw1)");
    says(open("verbs://127.0.0.1").error().message(), "passed over: 127.0.0.1 (");
}

// Ends this process, a child of the test, with status 0 if the error has that code; prints the message to stderr.
[[noreturn]] void end_with(const Error& error, Errc code) {
    std::fputs(error.message().c_str(), stderr);
    ::_exit(error.code == code ? 0 : 1);
}

void become_nobody() {
    constexpr uid_t nobody = 65'534;
    if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(2);
}

class VerbsOfNobody : public testing::Test {
  protected:
    void SetUp() override {
        if (!tested_here()) GTEST_SKIP() << "no RDMA device here";
        GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which the device has not been opened
    }
};

TEST_F(VerbsOfNobody, WithoutPermissionTheDeviceIsNamed) {
    const auto try_it = [] {
        for (const auto& each : std::filesystem::directory_iterator("/dev/infiniband")) {
            if (each.path().filename().string().starts_with("uverbs")) (void)::chmod(each.path().c_str(), 0600);
        }
        become_nobody();
        const auto opened = open("verbs://rxe0");
        end_with(opened ? Error(Errc::ok) : opened.error(), Errc::permission);
    };
    EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "/dev/infiniband/uverbs");
}

TEST_F(VerbsOfNobody, TheLimitOfLockedMemoryIsNamed) {
    const auto try_it = [](const char* device) {
        const auto transport = open(device);
        constexpr rlimit little{64 * 1024, 64 * 1024};
        if (!transport || ::setrlimit(RLIMIT_MEMLOCK, &little) != 0) ::_exit(3);
        become_nobody();
        std::vector<std::byte> memory(1024 * 1024);
        const na::Segment segment{memory.data(), memory.size()};
        const auto made = (*transport)->register_memory({&segment, 1}, na::Access::read_write);
        end_with(made ? Error(Errc::ok) : made.error(), Errc::out_of_memory);
    };
    EXPECT_EXIT(try_it("verbs://rxe0"), testing::ExitedWithCode(0), "ulimit -l.*the limit is 64 KiB");
    EXPECT_EXIT(try_it("verbs://siw0"), testing::ExitedWithCode(0), "ulimit -l.*the limit is 64 KiB");
}

TEST_F(VerbsOfNobody, MessagesThatCannotBePinnedAreRefusedWithTheSameAdvice) {
    const auto try_it = [](const char* device) {
        const auto transport = open(device).value();
        na::Transport* const transports[] = {transport.get()};
        support::RecordingReceiver receiver;
        const auto context = na::Context::open(transports, {}, receiver).value();
        constexpr rlimit little{16 * 1024, 16 * 1024};
        if (::setrlimit(RLIMIT_MEMLOCK, &little) != 0) ::_exit(3);
        become_nobody();
        const bool taken = context->ports().front()->take_message() != nullptr;
        (void)flush_log(std::chrono::seconds(1));
        ::_exit(taken ? 1 : 0);
    };
    const char* const advice = "no more send buffers: out of memory: .*ulimit -l.*the limit is 16 KiB";
    EXPECT_EXIT(try_it("verbs://rxe0"), testing::ExitedWithCode(0), advice);
    EXPECT_EXIT(try_it("verbs://siw0"), testing::ExitedWithCode(0), advice);
}

}  // namespace
}  // namespace cinnabar::verbs
