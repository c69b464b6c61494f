// SPDX-License-Identifier: BSD-3-Clause
// Limits of the operating system: a small disk, a size limit, another user.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace cinnabar::support {

// Mounts a tmpfs of `bytes`, with at most `files` inodes if that is not 0, over an existing directory. Its contents are
// lost when it is unmounted. Needs root.
class SmallDisk {
  public:
    SmallDisk(std::string at, std::size_t bytes, std::size_t files = 0) : at_(std::move(at)) {
        const auto options = "size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(files);
        mounted_ = ::mount("none", at_.c_str(), "tmpfs", 0, options.c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted_) (void)::umount2(at_.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    [[nodiscard]] bool mounted() const { return mounted_; }

  private:
    std::string at_;
    bool mounted_ = false;
};

// No file of this process may grow over `bytes`.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) {
        handler_ = ::signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        rlimit limit{bytes, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    ~FileSizeLimit() {
        (void)::setrlimit(RLIMIT_FSIZE, &before_);
        (void)::signal(SIGXFSZ, handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

// Lets this process, and those that it starts, open `count` descriptors. Empty; or why the system does not, which is
// its hard limit.
[[nodiscard]] inline std::string allow_descriptors(rlim_t count) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= count) return {};
    const std::string needs = "needs " + std::to_string(count) + " open files";
    if (limit.rlim_max < count) return needs + ", and the hard limit is lower (ulimit -Hn)";
    limit.rlim_cur = count;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::string() : needs + ", which the system refuses";
}

// While it exists, root's process has the effective user nobody, since permission bits do not restrict root.
class AsNobody {
  public:
    AsNobody() {
        if (::geteuid() == 0) changed_ = ::seteuid(65534) == 0;
    }
    ~AsNobody() {
        if (changed_) {
            EXPECT_EQ(::seteuid(0), 0);
        }
    }
    AsNobody(const AsNobody&) = delete;
    AsNobody& operator=(const AsNobody&) = delete;

  private:
    bool changed_ = false;
};

}  // namespace cinnabar::support
