// SPDX-License-Identifier: BSD-3-Clause
// The mode of a listening socket is the requested one under any umask, and no other file's mode is changed.
#include "local_socket.hpp"
#include "support/folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace {
std::function<void()> after_bind;  // runs once
}

// The linker replaces bind() with it (-Wl,--wrap=bind).
extern "C" int __real_bind(int fd, const sockaddr* address, socklen_t bytes);
extern "C" int __wrap_bind(int fd, const sockaddr* address, socklen_t bytes);
extern "C" int __wrap_bind(int fd, const sockaddr* address, socklen_t bytes) {
    const int result = __real_bind(fd, address, bytes);
    const int why = errno;
    if (const auto act = std::exchange(after_bind, nullptr)) act();
    errno = why;
    return result;
}

namespace cinnabar::shm {
namespace {

class SocketMode : public testing::Test {
  protected:
    SocketMode() : umask_(::umask(022)) {}
    ~SocketMode() override { (void)::umask(umask_); }
    [[nodiscard]] static mode_t mode_of(const std::string& path) {
        struct stat status {};
        EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
        return status.st_mode & 07777;
    }
    const mode_t umask_;
    const support::Folder root_;
    const std::string path_ = root_.at("one.sock");
};

TEST_F(SocketMode, is_as_asked_for_under_any_umask) {
    for (const mode_t mask : {0u, 022u, 077u}) {
        for (const mode_t mode : {0600u, 0660u}) {
            (void)::umask(mask);
            EXPECT_TRUE(listen_at(path_, mode));
            EXPECT_EQ(mode_of(path_), mode) << "umask " << mask;
            (void)::unlink(path_.c_str());
        }
    }
}

// Even before its mode is set, the socket must not be more accessible.
TEST_F(SocketMode, is_no_wider_right_after_bind) {
    (void)::umask(0);
    mode_t first = 0;
    after_bind = [&] { first = mode_of(path_); };
    EXPECT_TRUE(listen_at(path_, 0660));
    EXPECT_EQ(first, 0660u);
}

// The owner of a group's folder may replace the socket with any file.
TEST_F(SocketMode, is_not_set_through_a_link_in_its_place) {
    const std::string private_file = root_.put("private", "of the user alone");
    ASSERT_EQ(::chmod(private_file.c_str(), 0600), 0);
    after_bind = [&] {
        ASSERT_EQ(::unlink(path_.c_str()), 0);
        ASSERT_EQ(::symlink(private_file.c_str(), path_.c_str()), 0);
    };
    EXPECT_FALSE(listen_at(path_, 0660));
    EXPECT_EQ(mode_of(private_file), 0600u);
}

TEST_F(SocketMode, is_not_set_on_another_file_in_its_place) {
    const std::string private_file = root_.put("private", "of the user alone");
    ASSERT_EQ(::chmod(private_file.c_str(), 0600), 0);
    after_bind = [&] { ASSERT_EQ(::rename(private_file.c_str(), path_.c_str()), 0); };
    EXPECT_FALSE(listen_at(path_, 0660));
    EXPECT_EQ(mode_of(path_), 0600u);
}

}  // namespace
}  // namespace cinnabar::shm
