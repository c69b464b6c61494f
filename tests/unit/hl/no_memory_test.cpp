// SPDX-License-Identifier: BSD-3-Clause
// Tasks that cannot be started because memory, or the system's threads, are out. This is a program of its own, because
// its malloc is replaced.
#include "support/allocation_count.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cinnabar::hl {
namespace {

class NodeWithoutMemory : public testing::Test {
  protected:
    void SetUp() override {
        if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
    }
};

Task<int> give(int value) { co_return value; }

// Otherwise the node would wait for a task that never began.
TEST_F(NodeWithoutMemory, SaysThatATaskWasNotSpawned) {
    const Node node = Node::open("self://").value();
    for (std::uint64_t spared = 0; spared < 2; ++spared) {
        Task<int> task = give(1);
        std::uint64_t left = spared;
        const support::NoMemory out(left);
        EXPECT_EQ(node.spawn(std::move(task)), Errc::out_of_memory) << spared;
    }
}

// The last line that was logged, kept without an allocation.
class LastLine {
  public:
    LastLine() { set_log_sink(&LastLine::keep, this); }
    ~LastLine() { set_log_sink(nullptr, nullptr); }
    LastLine(const LastLine&) = delete;
    LastLine& operator=(const LastLine&) = delete;
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

  private:
    static void keep(const LogLine& line, void* self) {
        auto& last = *static_cast<LastLine*>(self);
        last.size_ = line.text.copy(last.text_.data(), last.text_.size());
    }
    std::array<char, 256> text_{};
    std::size_t size_ = 0;
};

// What a callback throws is often that memory is out; to say so must not need any.
TEST_F(NodeWithoutMemory, LogsAnExceptionThatEscaped) {
    const LastLine line;
    const auto logged = [&line](const auto& thrown) {
        try {
            throw thrown;  // NOLINT(misc-throw-by-value-catch-by-reference)
        } catch (...) {
            const support::NoMemory out;
            detail::log_exception("a callback");
        }
        return std::string(line.text());
    };
    EXPECT_NE(logged(std::bad_alloc()).find("a callback threw: out of memory"), std::string::npos) << line.text();
    EXPECT_NE(logged(std::runtime_error(std::string(100, 'x'))).find("a callback threw:"), std::string::npos);
}

TEST_F(NodeWithoutMemory, ATextThatDoesNotFitIsLeftOut) {
    const std::runtime_error thrown(std::string(100, 'x'));
    const Error error = [&thrown] {
        try {
            throw thrown;  // NOLINT(misc-throw-by-value-catch-by-reference)
        } catch (...) {
            const support::NoMemory out;
            return detail::error_of_exception();
        }
    }();
    EXPECT_EQ(error.code, Errc::handler_failed);
    EXPECT_EQ(error.subject, "");
}

// Suspends until it is resumed by hand.
struct Parked {
    std::coroutine_handle<>& where;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const noexcept { where = handle; }
    void await_resume() const noexcept {}
};

TEST_F(NodeWithoutMemory, WaitsForTheChildrenThatWereStarted) {
    std::optional<support::NoMemory> out;
    std::coroutine_handle<> parked;
    const auto first = [&]() -> Task<int> {
        out.emplace();
        co_await Parked{parked};
        co_return 1;
    };
    const auto all = [&]() -> Task<bool> {
        try {
            (void)co_await when_all(first(), give(2));
        } catch (const std::bad_alloc&) {
            co_return true;
        }
        co_return false;
    };
    Waiter waiter;
    const TaskContext context{&waiter, time_never, nullptr, nullptr};
    Task<bool> task = all();
    const std::coroutine_handle<> handle = task.start(std::noop_coroutine(), &context);
    handle.resume();
    out.reset();
    ASSERT_TRUE(parked);
    EXPECT_FALSE(handle.done());
    parked.resume();
    ASSERT_TRUE(handle.done());
    EXPECT_TRUE(task.take());
}

// New threads get a stack that does not fit the address space.
class NoThreads {
  public:
    NoThreads() {
        EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
        pthread_attr_t huge;
        EXPECT_EQ(pthread_attr_init(&huge), 0);
        EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
        (void)pthread_attr_destroy(&huge);
    }
    ~NoThreads() {
        EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
        (void)pthread_attr_destroy(&before_);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;

  private:
    pthread_attr_t before_;
};

TEST_F(NodeWithoutMemory, SaysThatItHasNoThread) {
    {
        const NoThreads out;
        const auto node = Node::open("self://");
        ASSERT_EQ(node.code(), Errc::out_of_memory);
        EXPECT_NE(node.error().message().find("a thread of the node"), std::string::npos) << node.error().message();
    }
    EXPECT_TRUE(Node::open("self://").ok());
}

}  // namespace
}  // namespace cinnabar::hl
