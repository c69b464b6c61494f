// SPDX-License-Identifier: BSD-3-Clause
// A node that listens on all interfaces logs a warning.
#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

namespace cinnabar {
namespace {

class Listen : public testing::Test {
  protected:
    Listen() { set_log_sink(&Listen::take, this); }
    ~Listen() override { set_log_sink(nullptr, nullptr); }
    std::vector<std::string> told(std::initializer_list<std::string_view> uris, NodeOptions options = {}) {
        lines_.clear();
        const auto node = Node::listen(uris, std::move(options));
        EXPECT_TRUE(node.ok()) << node.error().message();
        return lines();
    }
    std::vector<std::string> lines() {
        const std::lock_guard lock(mutex_);
        return lines_;
    }

  private:
    static void take(const LogLine& line, void* user) {
        auto& self = *static_cast<Listen*>(user);
        const std::lock_guard lock(self.mutex_);
        self.lines_.emplace_back(line.text);
    }
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

TEST_F(Listen, on_all_interfaces_logs_one_warning) {
    for (const std::string_view uri : {"tcp://:0", "tcp://0.0.0.0:0", "tcp://"}) {
        const auto lines = told({uri, "tcp://:0"});
        ASSERT_EQ(lines.size(), 1u) << uri;
        EXPECT_EQ(lines.front().find(std::string(uri) + " listens on all interfaces"), 0u) << lines.front();
    }
}

TEST_F(Listen, on_this_host_logs_nothing) {
    EXPECT_EQ(told({"tcp://127.0.0.1:0", "shm://", "self://"}), std::vector<std::string>());
}

TEST_F(Listen, with_strangers_may_call_logs_nothing) {
    NodeOptions options;
    options.strangers_may_call = true;
    EXPECT_EQ(told({"tcp://:0"}, options), std::vector<std::string>());
    options.strangers_may_call = false;
    options.rpc.policy = Policy::parse("known allow proven *").value();
    EXPECT_EQ(told({"tcp://:0"}, options), std::vector<std::string>());
}

TEST_F(Listen, a_node_that_only_calls_logs_nothing) {
    const auto node = Node::open("tcp://");
    EXPECT_TRUE(node.ok());
    EXPECT_EQ(lines(), std::vector<std::string>());
}

}  // namespace
}  // namespace cinnabar
