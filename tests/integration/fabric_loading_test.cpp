// SPDX-License-Identifier: BSD-3-Clause
// libfabric and rdma-core are loaded only when one of their addresses is opened, and never change the program's signal
// handlers.
#include "support/sanitizers.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

namespace cinnabar {
namespace {

bool is_mapped(const char* library) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(library) != std::string::npos) return true;
    }
    return false;
}

std::array<void (*)(int, siginfo_t*, void*), NSIG> handlers() {
    std::array<void (*)(int, siginfo_t*, void*), NSIG> found{};
    for (int signal = 1; signal < NSIG; ++signal) {
        struct sigaction action = {};
        if (::sigaction(signal, nullptr, &action) == 0) found[static_cast<std::size_t>(signal)] = action.sa_sigaction;
    }
    return found;
}

// The exit status of a child that opens `address` and aborts. 77: this machine has no such network.
int status_of_abort(const char* address) {
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        auto node = Node::listen(address);
        if (!node && node.code() == Errc::unsupported) std::_Exit(77);
        if (node) std::abort();
        std::_Exit(1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

// The exit status of a child that has no free descriptor to load a library with. 77: this build has no such network.
int status_without_library(const char* address) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit none{3, 3};
        (void)::setrlimit(RLIMIT_NOFILE, &none);
        const auto node = Node::listen(address);
        if (node || node.code() != Errc::unsupported) std::_Exit(1);
        const std::string why = node.error().message();
        if (why.find("no plugin of that scheme") != std::string::npos) std::_Exit(77);
        std::_Exit(why.find("cannot be loaded: install it") != std::string::npos ? 0 : 2);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

TEST(FabricLoading, OtherTransportsDoNotLoadIt) {
    for (const char* address : {"tcp://127.0.0.1:0", "shm://"}) {
        const auto node = Node::listen(address);
        ASSERT_TRUE(node) << node.error().message();
        for (const char* library : {"libfabric", "libibverbs", "librdmacm"}) {
            EXPECT_FALSE(is_mapped(library)) << library << " for " << address;
        }
    }
}

TEST(FabricLoading, ALibraryThatCannotBeLoadedIsTold) {
    if (support::address_sanitizer) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
    for (const char* address : {"ofi+tcp://127.0.0.1:0", "verbs://127.0.0.1:0"}) {
        const int status = status_without_library(address);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) continue;
        EXPECT_EQ(status, 0) << address;
    }
}

TEST(FabricLoading, OpeningAFabricChangesNoSignalHandler) {
    const auto before = handlers();
    const auto node = Node::listen("ofi+tcp://127.0.0.1:0");
    if (!node && node.code() == Errc::unsupported) GTEST_SKIP() << node.error().message();
    ASSERT_TRUE(node) << node.error().message();
    EXPECT_TRUE(is_mapped("libfabric"));
    EXPECT_EQ(handlers(), before);
}

TEST(FabricLoading, AProgramDiesOfItsOwnSignal) {
    for (const char* address : {"tcp://127.0.0.1:0", "ofi+tcp://127.0.0.1:0"}) {
        const int status = status_of_abort(address);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) continue;
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << address << ": " << status;
    }
}

}  // namespace
}  // namespace cinnabar
