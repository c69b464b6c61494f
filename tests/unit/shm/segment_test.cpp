// SPDX-License-Identifier: BSD-3-Clause
// Segments: shared once their descriptor is passed, refused if accessing them could kill the process.
#include "segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cinnabar::shm {
namespace {

constexpr std::size_t segment_bytes = 8192;

TEST(Segment, is_the_same_memory_for_both) {
    Segment made;
    Segment mapped;
    UniqueFd fd;
    ASSERT_EQ(Segment::make("test", segment_bytes, made, fd), Errc::ok);
    ASSERT_EQ(Segment::attach(fd.get(), segment_bytes, mapped), Errc::ok);
    EXPECT_EQ(made.base()[5000], std::byte{0});
    made.base()[5000] = std::byte{7};
    EXPECT_EQ(mapped.base()[5000], std::byte{7});
    EXPECT_NE(::ftruncate(fd.get(), 0), 0) << "whoever has it could kill the others";
}

TEST(Segment, of_another_size_is_refused) {
    Segment made;
    Segment mapped;
    UniqueFd fd;
    ASSERT_EQ(Segment::make("test", segment_bytes, made, fd), Errc::ok);
    EXPECT_EQ(Segment::attach(fd.get(), segment_bytes / 2, mapped), Errc::protocol);
    EXPECT_EQ(Segment::attach(fd.get(), segment_bytes * 2, mapped), Errc::protocol);
    EXPECT_FALSE(mapped);
}

TEST(Segment, beyond_the_size_of_files_is_an_error_and_no_signal) {
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{segment_bytes, segment_bytes};
        (void)::setrlimit(RLIMIT_FSIZE, &limit);
        Segment made;
        UniqueFd fd;
        const bool refused = Segment::make("test", segment_bytes + 4096, made, fd) == Errc::out_of_memory;
        ::_exit(refused && Segment::make("test", segment_bytes, made, fd) == Errc::ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Segment, that_could_shrink_is_refused) {
    const UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(fd.get(), segment_bytes), 0);
    Segment mapped;
    EXPECT_EQ(Segment::attach(fd.get(), segment_bytes, mapped), Errc::protocol);
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    EXPECT_EQ(Segment::attach(fd.get(), segment_bytes, mapped), Errc::ok);
}

TEST(Segment, of_another_kind_of_file_is_refused) {
    Segment mapped;
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    EXPECT_EQ(Segment::attach(null.get(), segment_bytes, mapped), Errc::protocol);
    EXPECT_EQ(Segment::attach(-1, segment_bytes, mapped), Errc::protocol);
}

}  // namespace
}  // namespace cinnabar::shm
