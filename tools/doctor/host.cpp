// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/host.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

namespace cinnabar::tools::doctor {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    (void)::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Connects, asks for the path MTU, and closes: a new connection begins with what the kernel has learned about its path.
std::optional<unsigned> mtu_of_connection(const addrinfo& to) {
    constexpr int patience_ms = 2'000;
    const UniqueFd probe(::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!probe) return std::nullopt;
    if (::connect(probe.get(), to.ai_addr, to.ai_addrlen) != 0) {
        pollfd connected{probe.get(), POLLOUT, 0};
        if (errno != EINPROGRESS || ::poll(&connected, 1, patience_ms) != 1) return std::nullopt;
    }
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (::getsockopt(probe.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return std::nullopt;
    if (info.tcpi_state != TCP_ESTABLISHED) return std::nullopt;
    return info.tcpi_pmtu;
}

class ThisHost final : public Host {
  public:
    std::optional<std::string> read(const std::string& path) const override {
        const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (!fd) return std::nullopt;
        constexpr std::size_t bytes_max = 64 * 1024;
        std::string text;
        std::array<char, 4096> part{};
        while (text.size() < bytes_max) {
            const ssize_t count = ::read(fd.get(), part.data(), part.size());
            if (count < 0) return std::nullopt;
            if (count == 0) break;
            text.append(part.data(), static_cast<std::size_t>(count));
        }
        return text;
    }
    std::vector<std::string> list(const std::string& path) const override {
        std::vector<std::string> names;
        const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
        while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
            if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
        }
        std::ranges::sort(names);
        return names;
    }
    bool may_open(const std::string& path) const override { return ::access(path.c_str(), R_OK | W_OK) == 0; }
    bool is_locked(const std::string& path) const override {
        const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
        return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
    }
    std::optional<std::uint64_t> owner(const std::string& path) const override {
        struct stat status {};
        if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
        return status.st_uid;
    }
    std::optional<Space> space(const std::string& path) const override {
        struct statvfs status {};
        if (::statvfs(path.c_str(), &status) != 0) return std::nullopt;
        return Space{status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize};
    }
    std::string environment(const std::string& name) const override {
        const char* value = ::secure_getenv(name.c_str());
        return value ? value : "";
    }
    Lookup look_up(const std::string& name) const override {
        const auto begin = std::chrono::steady_clock::now();
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        Lookup result;
        result.found = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found) == 0;
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, [](addrinfo* list) {
            if (list) ::freeaddrinfo(list);
        });
        result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        for (const addrinfo* each = found; each; each = each->ai_next) {
            std::array<char, NI_MAXHOST> text{};
            if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) ==
                0)
                result.addresses.emplace_back(text.data());
        }
        return result;
    }
    std::optional<unsigned> path_mtu(const std::string& name, std::uint16_t port) const override {
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        if (::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return std::nullopt;
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, &::freeaddrinfo);
        for (const addrinfo* each = found; each; each = each->ai_next) {
            if (const auto mtu = mtu_of_connection(*each)) return mtu;
        }
        return std::nullopt;
    }
    std::uint64_t monotonic_ns() const override { return clock_ns(CLOCK_MONOTONIC); }
    std::uint64_t real_ns() const override { return clock_ns(CLOCK_REALTIME); }
    double clock_cost_ns() const override {
        constexpr int readings = 10'000;
        // Takes the best of several rounds, since this thread may be preempted.
        double best = 1e18;
        for (int turn = 0; turn < 5; ++turn) {
            const std::uint64_t begin = monotonic_ns();
            for (int i = 0; i < readings; ++i) (void)monotonic_ns();
            best = std::min(best, static_cast<double>(monotonic_ns() - begin) / readings);
        }
        return best;
    }
    void pause(std::uint64_t milliseconds) const override { (void)::poll(nullptr, 0, static_cast<int>(milliseconds)); }
};

}  // namespace

const Host& this_host() {
    static const ThisHost host;
    return host;
}

}  // namespace cinnabar::tools::doctor
