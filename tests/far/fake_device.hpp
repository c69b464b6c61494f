// SPDX-License-Identifier: BSD-3-Clause
// The memory of the simulated device: mappings of memory files, which other processes can open. After the bytes there
// is a page that lists the processes which have the file open.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

struct FakeHandle {
    pid_t process;
    int fd;
    std::uint64_t bytes;
    bool operator==(const FakeHandle&) const = default;
};

class FakeAllocation {
  public:
    FakeAllocation() = default;
    ~FakeAllocation();
    FakeAllocation(FakeAllocation&& other) noexcept;
    FakeAllocation& operator=(FakeAllocation&& other) noexcept;

    // Empty: the system refuses.
    [[nodiscard]] static FakeAllocation make(std::size_t bytes);
    [[nodiscard]] static FakeAllocation open(const FakeHandle& handle);
    [[nodiscard]] explicit operator bool() const { return base_ != nullptr; }

    [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(base_); }
    [[nodiscard]] std::size_t bytes() const { return handle_.bytes; }
    [[nodiscard]] FakeHandle handle() const { return handle_; }
    // Whether another living process has it open.
    [[nodiscard]] bool is_open_elsewhere() const;

  private:
    static constexpr std::size_t openers_max = 64;
    struct Openers {
        std::atomic<pid_t> processes[openers_max];
    };
    [[nodiscard]] bool map(int fd);
    [[nodiscard]] Openers& openers() const;
    void swap(FakeAllocation& other) noexcept;

    std::byte* base_ = nullptr;
    FakeHandle handle_{};
    bool is_own_ = false;
};
