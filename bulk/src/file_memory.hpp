// SPDX-License-Identifier: BSD-3-Clause
// A part of a file as far memory. Four threads, shared by all files of the process, read and write.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/bulk/far_memory.hpp>
#include <cinnabar/na/pipe_memory.hpp>
#include <cinnabar/na/types.hpp>

namespace cinnabar::bulk {

class FileMemory final : public FarMemory {
  public:
    // Errors: Region::of_file.
    [[nodiscard]] static Result<std::shared_ptr<FarMemory>> open(int fd, std::uint64_t offset, std::uint64_t bytes,
                                                                 na::Access access);
    FileMemory(UniqueFd fd, std::uint64_t offset, std::uint64_t bytes, WorkThreads& threads) noexcept
        : fd_(std::move(fd)), offset_(offset), bytes_(bytes), threads_(threads) {}
    // One of the threads closes the descriptor, since closing a large file can take long.
    ~FileMemory() override;

    [[nodiscard]] MemoryKind kind() const noexcept override { return MemoryKind::file; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
    [[nodiscard]] FarEnd load(std::uint64_t offset, Bytes to) noexcept override;
    [[nodiscard]] FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override;
    // Like load(), but into a pipe. unsupported: this file cannot be spliced into a pipe. After an error, the pipe may
    // hold a part of the bytes.
    [[nodiscard]] FarEnd load_into(na::PipeMemory& pipe, std::uint64_t offset, std::size_t bytes) const noexcept;
    [[nodiscard]] WorkThreads& threads() const noexcept override { return threads_; }

  private:
    UniqueFd fd_;
    const std::uint64_t offset_;
    const std::uint64_t bytes_;
    WorkThreads& threads_;
};

}  // namespace cinnabar::bulk
