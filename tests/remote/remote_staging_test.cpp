// SPDX-License-Identifier: BSD-3-Clause
// Writes through the owner's buffers, of which each peer has a share.
#include "remote_fixture.hpp"

namespace cinnabar {
namespace {

using namespace test;

class RemoteStaging : public testing::Test {
  protected:
    static NodeOptions with_buffers(std::uint64_t bytes) {
        NodeOptions options;
        options.buffer_bytes_max = bytes;
        return options;
    }
    // The result of a write of 800,000 bytes.
    Errc written(std::uint64_t buffer_bytes, Names names) {
        const Node owner = Node::listen("tcp://127.0.0.1:0", with_buffers(buffer_bytes)).value();
        const Node user = Node::open("tcp://").value();
        const auto shared = share(owner, std::span(memory_)).value();
        return shared.span(names).write(user, from_).wait().code();
    }
    Words memory_ = Words(100'000);
    Words from_ = counted(100'000, 1);
};

TEST_F(RemoteStaging, with_few_buffers_it_takes_smaller_steps) {
    EXPECT_EQ(written(256 << 10, Names::this_version), Errc::ok);
    EXPECT_EQ(memory_, from_);
}

TEST_F(RemoteStaging, without_a_share_of_the_buffers_it_is_overloaded) {
    EXPECT_EQ(written(64 << 10, Names::this_version), Errc::overloaded);
    EXPECT_EQ(memory_, Words(100'000));
    EXPECT_EQ(written(64 << 10, Names::any_version), Errc::ok);
    EXPECT_EQ(memory_, from_);
}

}  // namespace
}  // namespace cinnabar
