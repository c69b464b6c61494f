// SPDX-License-Identifier: BSD-3-Clause
#include "tree_movers.hpp"

#include "../harness/child.hpp"
#include "../harness/scratch.hpp"
#include "rsync.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error{what + ": " + std::strerror(errno)}; }

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

UniqueFd listen_on_loopback(std::uint16_t& port) {
    UniqueFd fd{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    auto address = loopback(0);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd.get(), any, size) != 0 || listen(fd.get(), 1) != 0 || getsockname(fd.get(), any, &size) != 0)
        fail("listen");
    port = ntohs(address.sin_port);
    return fd;
}

class Rsync : public Subject {
  public:
    Rsync(Cores cores, const fs::path& source, const fs::path& root)
        : target_(root / source.filename()),
          daemon_(cores, root),
          command_{"rsync", "-a", source.string(), daemon_.url()} {}
    Slice run_slice(std::chrono::milliseconds) override {
        Slice slice;
        const auto begin = seconds_now();
        run_command(command_);
        slice.seconds = seconds_now() - begin;
        slice.work = static_cast<double>(count_files(target_));
        fs::remove_all(target_);
        return slice;
    }

  private:
    fs::path target_;
    RsyncDaemon daemon_;
    std::vector<std::string> command_;
};

// Starts tar with a socket as its standard output or input.
pid_t start_tar(const std::vector<std::string>& words, int socket, int as) {
    const pid_t child = fork();
    if (child != 0) return child;
    (void)dup2(socket, as);
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp("tar", arguments.data());
    _exit(127);
}

void await(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error{"tar has failed"};
}

class Tar : public Subject {
  public:
    Tar(const fs::path& source, fs::path root) : source_(source), root_(std::move(root)) {}
    Slice run_slice(std::chrono::milliseconds) override {
        std::uint16_t port = 0;
        Slice slice;
        const auto begin = seconds_now();
        {
            const auto listener = listen_on_loopback(port);
            UniqueFd near{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
            const auto address = loopback(port);
            if (connect(near.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
            UniqueFd far{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            const auto reader = start_tar({"tar", "-x", "-C", root_.string()}, far.get(), STDIN_FILENO);
            const auto writer =
                start_tar({"tar", "-c", "-C", source_.parent_path().string(), source_.filename().string()}, near.get(),
                          STDOUT_FILENO);
            near.reset();
            far.reset();
            await(writer);
            await(reader);
        }
        slice.seconds = seconds_now() - begin;
        slice.work = static_cast<double>(count_files(root_ / source_.filename()));
        fs::remove_all(root_ / source_.filename());
        return slice;
    }

  private:
    fs::path source_;
    fs::path root_;
};

}  // namespace

std::unique_ptr<Subject> make_rsync(Cores cores, const fs::path& source, const fs::path& target_root) {
    return std::make_unique<Rsync>(cores, source, target_root);
}

std::unique_ptr<Subject> make_tar(const fs::path& source, const fs::path& target_root) {
    return std::make_unique<Tar>(source, target_root);
}

}  // namespace cinnabar::bench
