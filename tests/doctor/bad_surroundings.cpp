// SPDX-License-Identifier: BSD-3-Clause
#include "bad_surroundings.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace cinnabar::tools {

std::string lack_of_namespaces() {
    if (::geteuid() != 0) return "needs root";
    const pid_t child = ::fork();
    if (child == 0) ::_exit(leave_namespaces() && cover_folder("/sys", {}) ? 0 : 1);
    int status = 0;
    const bool ended = child > 0 && ::waitpid(child, &status, 0) == child;
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    return "this root may make no namespaces, or mount nothing in them";
}

bool leave_namespaces() {
    return ::unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWNET) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool cover_folder(const std::string& folder, const CoverFiles& files, const std::string& options) {
    if (::mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) != 0) return false;
    for (const auto& [name, text] : files) {
        const std::filesystem::path path = std::filesystem::path(folder) / name;
        std::error_code failed;
        std::filesystem::create_directories(path.parent_path(), failed);
        if (failed || !write_setting(path.string(), text)) return false;
    }
    return true;
}

bool cover_file(const std::string& file, const std::string& by) {
    return ::mount(by.c_str(), file.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool write_setting(const std::string& file, const std::string& text) {
    std::ofstream out(file);
    out << text << '\n';
    return static_cast<bool>(out.flush());
}

bool keep_to_one_processor() {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        return ::sched_setaffinity(0, sizeof one, &one) == 0;
    }
    return false;
}

unsigned processors_allowed() {
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    return static_cast<unsigned>(CPU_COUNT(&allowed));
}

OwnNetwork::OwnNetwork(int mtu) : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (!home_ || ::unshare(CLONE_NEWNET) != 0) return;
    entered_ = true;
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_mtu = mtu;
    if (::ioctl(socket.get(), SIOCSIFMTU, &request) != 0) return;
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return;
    request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
    made_ = ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

OwnNetwork::~OwnNetwork() { EXPECT_TRUE(!entered_ || ::setns(home_.get(), CLONE_NEWNET) == 0); }

}  // namespace cinnabar::tools
