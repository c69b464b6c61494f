// SPDX-License-Identifier: BSD-3-Clause
// PipeMemory: bytes of a file in a pipe. The kernel puts references to the pages of its cache there, and a transport
// that sends through sockets moves them on from there: the bytes are never copied to memory of this process. It is a
// registration whose memory has no address, for puts alone. Each byte can be moved once, in order.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar::na {

// A transport whose ports take puts from a PipeMemory is one.
class CINNABAR_API PipeTaker {
  public:
    [[nodiscard]] virtual bool takes_pipes() const noexcept = 0;

  protected:
    virtual ~PipeTaker() = default;
};

// One thread at a time.
class CINNABAR_API PipeMemory final : public Memory {
  public:
    // For puts of at most `bytes` each. Null: no descriptor is left, the user's pipes hold too much (pipe(7),
    // pipe-user-pages-soft), or memory is short. The transport must outlive it.
    [[nodiscard]] static std::unique_ptr<PipeMemory> make(Transport& transport, std::size_t bytes) noexcept;
    // The pipe that an operation names as its local memory; null: it names another registration.
    [[nodiscard]] static PipeMemory* of(Memory& memory) noexcept;

    // Puts [offset, offset + bytes) of the file into the pipe, and waits for the disk if it must. Returns how many
    // bytes there were, fewer where the file ends, or -1, with errno; EINVAL: the file has no way into a pipe.
    // Requires: left() is 0; at most bytes() bytes.
    [[nodiscard]] ssize_t fill(int file, std::uint64_t offset, std::size_t bytes) noexcept;
    // In the pipe.
    [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

    // For the transport: where the bytes are read, and that so many were.
    [[nodiscard]] int read_end() const noexcept { return read_end_.get(); }
    void taken(std::uint64_t bytes) noexcept { left_ -= bytes; }

  private:
    PipeMemory(Transport& transport, std::size_t bytes, UniqueFd read_end, UniqueFd write_end);
    UniqueFd read_end_;
    UniqueFd write_end_;
    std::uint64_t left_ = 0;
};

}  // namespace cinnabar::na
