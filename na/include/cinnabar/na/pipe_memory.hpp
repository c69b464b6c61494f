// SPDX-License-Identifier: BSD-3-Clause
// PipeMemory: bytes of a file, spliced into a pipe. The pipe holds references to pages of the kernel's page cache, and
// a transport that sends through sockets splices them on: the bytes are never copied to memory of this process. A
// PipeMemory is a registration without an address, for use as the source of puts only. Each byte can be sent once, in
// order.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cinnabar::na {

// The interface of transports whose ports may accept puts from a PipeMemory.
class CINNABAR_API PipeTaker {
  public:
    [[nodiscard]] virtual bool takes_pipes() const noexcept = 0;

  protected:
    virtual ~PipeTaker() = default;
};

// One thread at a time.
class CINNABAR_API PipeMemory final : public Memory {
  public:
    // Makes a pipe for puts of at most `bytes` each. Null: no descriptor is left, the user's pipes together have
    // reached their limit (pipe(7), pipe-user-pages-soft), or out of memory. The transport must outlive the result.
    [[nodiscard]] static std::unique_ptr<PipeMemory> make(Transport& transport, std::size_t bytes) noexcept;
    // Casts `memory`, the local memory of an operation; null: it is another kind of registration.
    [[nodiscard]] static PipeMemory* of(Memory& memory) noexcept;

    // Splices [offset, offset + bytes) of the file into the pipe, and waits for the disk if it must. Returns the number
    // of bytes, which is smaller at the end of the file, or -1 with errno. EINVAL: the file cannot be spliced.
    // Requires: left() is 0; at most bytes() bytes.
    [[nodiscard]] ssize_t fill(int file, std::uint64_t offset, std::size_t bytes) noexcept;
    // Bytes in the pipe.
    [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

    // For the transport: the descriptor to read from, and a call that reports how many bytes it has read.
    [[nodiscard]] int read_end() const noexcept { return read_end_.get(); }
    void taken(std::uint64_t bytes) noexcept { left_ -= bytes; }

  private:
    PipeMemory(Transport& transport, std::size_t bytes, UniqueFd read_end, UniqueFd write_end);
    UniqueFd read_end_;
    UniqueFd write_end_;
    std::uint64_t left_ = 0;
};

}  // namespace cinnabar::na
