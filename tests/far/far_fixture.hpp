// SPDX-License-Identifier: BSD-3-Clause
// Files with a pattern, and far memory whose copies a test can delay or fail.
#pragma once

#include "support/folder.hpp"
#include "support/patterns.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/base/work_threads.hpp>
#include <cinnabar/bulk/region.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::test {

// `bytes` bytes of pattern `seed`; an empty file if 0.
class PatternFile {
  public:
    explicit PatternFile(std::size_t bytes, std::uint64_t seed = 1, int mode = O_RDWR) {
        std::string content(bytes, '\0');
        support::fill_pattern(std::as_writable_bytes(std::span(content)), seed);
        path_ = folder_.put("file", content);
        fd_ = UniqueFd(::open(path_.c_str(), mode | O_CLOEXEC));
        EXPECT_TRUE(fd_);
    }
    [[nodiscard]] int fd() const { return fd_.get(); }
    void close() { fd_.reset(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bulk::Region region(std::uint64_t offset, std::uint64_t bytes,
                                      na::Access access = na::Access::read_write) const {
        return bulk::Region::of_file(fd(), offset, bytes, access).value();
    }
    [[nodiscard]] std::vector<std::byte> bytes() const {
        const std::string content = folder_.get("file");
        const auto all = std::as_bytes(std::span(content));
        return {all.begin(), all.end()};
    }
    void truncate(std::size_t bytes) const { EXPECT_EQ(::ftruncate(fd(), static_cast<off_t>(bytes)), 0); }

  private:
    support::Folder folder_;
    std::string path_;
    UniqueFd fd_;
};

// Host memory that behaves like device memory. A test can make its copies slow, or fail.
class MadeUpFar final : public bulk::FarMemory {
  public:
    explicit MadeUpFar(std::size_t bytes, std::uint64_t seed = 1) : memory_(bytes) {
        support::fill_pattern(memory_, seed);
    }
    [[nodiscard]] bulk::MemoryKind kind() const noexcept override { return bulk::MemoryKind::cuda; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return memory_.size(); }
    [[nodiscard]] bulk::FarEnd load(std::uint64_t offset, Bytes to) noexcept override {
        if (const bulk::FarEnd end = enter(); end.code != Errc::ok) return end;
        std::memcpy(to.data(), memory_.data() + offset, to.size());
        return {};
    }
    [[nodiscard]] bulk::FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override {
        if (const bulk::FarEnd end = enter(); end.code != Errc::ok) return end;
        std::memcpy(memory_.data() + offset, from.data(), from.size());
        return {};
    }
    [[nodiscard]] WorkThreads& threads() const noexcept override {
        static auto* const threads = new WorkThreads(2);
        return *threads;
    }
    // The handles refer to other memory of this class in this process.
    [[nodiscard]] bulk::FarEnd ipc_handle(std::uint64_t offset, bulk::IpcHandle& out) noexcept override {
        if (!has_handles) return {Errc::unsupported, 0};
        ++shown;
        MadeUpFar* const self = this;
        std::memcpy(out.driver.data(), &self, sizeof self);
        out.offset = offset;
        return {};
    }
    [[nodiscard]] std::unique_ptr<bulk::IpcMemory> open_ipc(const bulk::IpcHandle& handle, std::uint64_t bytes,
                                                            bulk::FarEnd& end) noexcept override {
        MadeUpFar* there = nullptr;
        std::memcpy(&there, handle.driver.data(), sizeof there);
        end.code = open_fails;
        if (there->bytes() < handle.offset || bytes > there->bytes() - handle.offset) end.code = Errc::too_large;
        if (end.code != Errc::ok) return nullptr;
        ++opens;
        ++open;
        return std::make_unique<Opened>(*this, there->memory_.data() + handle.offset);
    }
    [[nodiscard]] bulk::FarEnd load_into(std::uint64_t offset, bulk::IpcMemory& to, std::uint64_t at,
                                         std::uint64_t bytes) noexcept override {
        if (const bulk::FarEnd end = enter(); end.code != Errc::ok) return end;
        std::memcpy(static_cast<Opened&>(to).there + at, memory_.data() + offset, bytes);
        return {};
    }
    [[nodiscard]] bulk::FarEnd store_from(std::uint64_t offset, const bulk::IpcMemory& from, std::uint64_t at,
                                          std::uint64_t bytes) noexcept override {
        if (const bulk::FarEnd end = enter(); end.code != Errc::ok) return end;
        const std::lock_guard lock(copying_);  // some tests have several transfers into the same bytes
        std::memcpy(memory_.data() + offset, static_cast<const Opened&>(from).there + at, bytes);
        return {};
    }
    [[nodiscard]] std::shared_ptr<void> pin(Bytes) noexcept override {
        ++*pins;
        return std::shared_ptr<void>(pins.get(), [held = pins](void*) { --*held; });
    }

    // Each copy takes that long, and the first one calls `function` when it starts. Call it before the first copy.
    void take_long(std::chrono::milliseconds takes, std::function<void()> function = {}) {
        takes_ = takes;
        begun_ = std::move(function);
    }
    void await_begin() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return entered > 0; });
    }
    void fail_after(int copies, Errc code) {
        left_ = copies;
        code_ = code;
    }
    [[nodiscard]] const std::vector<std::byte>& memory() const { return memory_; }

    bool has_handles = true;
    Errc open_fails = Errc::ok;
    Errc close_fails = Errc::ok;
    std::atomic<int> shown{0};  // handles
    std::atomic<int> opens{0};  // of other memory's handles
    std::atomic<int> open{0};   // opened and not closed
    std::atomic<int> entered{0};
    std::atomic<int> ended{0};
    const std::shared_ptr<std::atomic<int>> pins = std::make_shared<std::atomic<int>>(0);  // pins outlive this object

  private:
    struct Opened final : bulk::IpcMemory {
        Opened(MadeUpFar& opener, std::byte* at) : by(opener), there(at) {}
        [[nodiscard]] bulk::FarEnd close() noexcept override {
            --by.open;
            return {by.close_fails, 0};
        }
        MadeUpFar& by;
        std::byte* const there;
    };
    bulk::FarEnd enter() {
        std::unique_lock lock(mutex_);
        if (++entered == 1 && begun_) begun_();
        changed_.notify_all();
        if (takes_.count() > 0) changed_.wait_for(lock, takes_, [] { return false; });
        ++ended;
        if (code_ != Errc::ok && left_-- <= 0) return {code_, 5};
        return {};
    }
    std::vector<std::byte> memory_;
    std::mutex mutex_;
    std::mutex copying_;
    std::condition_variable changed_;
    std::chrono::milliseconds takes_{0};
    std::function<void()> begun_;
    int left_ = 0;
    Errc code_ = Errc::ok;
};

}  // namespace cinnabar::test
