// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a request lie in the network's memory until its handler returns. A handle that is kept longer gives
// that memory back: its bytes move, while other threads may be reading them, or have pointers to them.
#pragma once

#include "mercury_types.h"

#include <atomic>
#include <cstdint>

struct hg_handle;
struct hg_proc;

namespace cinnabar::mercury {

class InputState {
  public:
    void reset() noexcept { state_.store(lent, std::memory_order_relaxed); }

    // Around reading: the bytes stay where they are in between. Threads that use a handle do so one at a time; it is
    // the thread that ran the handler which may come in between.
    void begin_read() noexcept;
    void end_read(hg_handle& handle) noexcept;
    // The bytes stay where they are from now on: somebody will have pointers to them.
    void settle(hg_handle& handle) noexcept;
    // The same within a read, by the reader; they may have moved.
    void settle_within(hg_handle& handle) noexcept;
    // The handler has returned and the handle lives on.
    void give_back(hg_handle& handle) noexcept;
    // By the reader, within a read: they are gone.
    void released() noexcept { state_.store(settled, std::memory_order_release); }

  private:
    enum State : std::uint8_t {
        lent,
        reading,
        give_back_after,  // reading, and to be given back by the reader
        settled,
    };
    std::atomic<std::uint8_t> state_{lent};
};

// The next bytes of a decoder, for a moment: nothing moves for their sake. Null when there are fewer.
[[nodiscard]] const void* next_bytes(hg_proc& proc, hg_size_t bytes) noexcept;

}  // namespace cinnabar::mercury
