// SPDX-License-Identifier: BSD-3-Clause
// The staging buffers through which a Mover moves far memory over one transport. Allocated at first use; a fixed number
// is kept. One peer may hold half of the buffers. While all buffers are in use, a peer that holds none still gets an
// extra buffer, which is freed afterwards, so peers that do not answer do not hold up others. Owner of the context
// only.
#pragma once

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/na/pipe_memory.hpp>

#include <array>
#include <cstdint>
#include <memory>

namespace cinnabar::bulk {

struct FarBuffer {
    Region region;
    na::Memory* memory = nullptr;
    // The objects that keep this buffer pinned, one for each kind of memory. FarMemory::pin makes the object when a
    // copy first needs it; the object is released before the region. Used only by the copy that holds the buffer.
    struct Pinned {
        bool asked = false;
        std::shared_ptr<void> hold;
    };
    std::array<Pinned, memory_kind_count> pinned;
    // The pipe that is used instead of `region` for bytes loaded from a file, if the transport supports pipes; made
    // when first needed. Used only by the copy that holds the buffer.
    std::unique_ptr<na::PipeMemory> pipe;
    bool may_have_pipe = false;
    FarBuffer* next = nullptr;

    [[nodiscard]] Bytes bytes(std::uint64_t count) const noexcept { return region.contiguous().first(count); }
    // The memory that an operation of the transport names: where the bytes were loaded to, or will arrive.
    [[nodiscard]] na::Memory& holder() const noexcept { return pipe && pipe->left() > 0 ? *pipe : *memory; }
};

class FarStaging {
  public:
    // The size that fits into a pipe of 1 MiB at any offset, with pages of up to 64 KiB.
    static constexpr std::uint64_t buffer_bytes = (1024 - 2 * 64) * 1024;
    static constexpr std::uint32_t buffers = 16;
    static constexpr std::uint32_t peer_buffers_max = buffers / 2;

    FarStaging() = default;
    // Requires: all buffers were given back.
    ~FarStaging();
    FarStaging(const FarStaging&) = delete;
    FarStaging& operator=(const FarStaging&) = delete;

    // Whether a peer that holds `held` buffers may have one more.
    [[nodiscard]] bool may_take(std::uint32_t held) const noexcept {
        return held == 0 || (held < peer_buffers_max && taken_ < buffers);
    }
    // Null: no memory, or the transport cannot register it. Requires: may_take().
    [[nodiscard]] FarBuffer* take(const std::shared_ptr<na::Transport>& transport) noexcept;
    void give(FarBuffer& buffer) noexcept;

  private:
    FarBuffer* free_ = nullptr;
    std::uint32_t taken_ = 0;
};

}  // namespace cinnabar::bulk
