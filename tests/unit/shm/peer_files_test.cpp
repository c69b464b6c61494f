// SPDX-License-Identifier: BSD-3-Clause
// The number of mapped files per peer is bounded, whatever the peer names. Here the peer is this process itself.
#include "peer_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <vector>

namespace cinnabar::shm {
namespace {

constexpr std::size_t bytes = 4096;

struct File {
    Segment memory;
    UniqueFd fd;
    std::uint64_t serial = 0;
};

File make_file() {
    File file;
    EXPECT_EQ(Segment::make("test", bytes, file.memory, file.fd), Errc::ok);
    struct stat status {};
    EXPECT_EQ(::fstat(file.fd.get(), &status), 0);
    file.serial = status.st_ino;
    return file;
}

class PeerFilesTest : public testing::Test {
  protected:
    void SetUp() override {
        if (!self_.open(::getpid())) GTEST_SKIP() << "the kernel gives no descriptor of a process";
        const UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, self_.fd(), STDERR_FILENO, 0)));
        if (!copy) GTEST_SKIP() << "the kernel gives no descriptor of a peer";
    }
    std::weak_ptr<const Segment> map(const File& file) {
        return files_.map(self_, static_cast<std::uint32_t>(file.fd.get()) + 1, file.serial);
    }
    PeerProcess self_;
    PeerFiles files_;
};

TEST_F(PeerFilesTest, TheLeastRecentlyUsedOneIsDropped) {
    std::vector<File> made;
    std::vector<std::weak_ptr<const Segment>> mapped;
    for (std::size_t i = 0; i < PeerFiles::files_max; ++i) {
        made.push_back(make_file());
        mapped.push_back(map(made.back()));
        ASSERT_FALSE(mapped.back().expired());
    }
    EXPECT_EQ(map(made[0]).lock(), mapped[0].lock());
    made.push_back(make_file());
    EXPECT_FALSE(map(made.back()).expired());
    EXPECT_FALSE(mapped[0].expired()) << "it was just used";
    EXPECT_TRUE(mapped[1].expired());
    EXPECT_FALSE(mapped[2].expired());
    EXPECT_FALSE(map(made[1]).expired()) << "it is mapped anew";
}

TEST_F(PeerFilesTest, AReusedDescriptorIsNotTakenForTheOldFile) {
    File old = make_file();
    const auto before = map(old);
    const File other = make_file();
    ASSERT_EQ(::dup2(other.fd.get(), old.fd.get()), old.fd.get());
    EXPECT_FALSE(before.expired());
    old.serial = other.serial;
    EXPECT_FALSE(map(old).expired());
    EXPECT_TRUE(before.expired());
    old.serial = 0;
    EXPECT_TRUE(map(old).expired()) << "no such file";
}

}  // namespace
}  // namespace cinnabar::shm
