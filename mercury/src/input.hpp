// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a request lie in receive memory of the network until the handler returns. If the handle is kept
// longer, they are copied, and the receive memory is given back. But another thread may be reading the arguments, or
// the user may have pointers to them: InputState decides when they may be moved. Small arguments are stored in the
// request itself and never move.
#pragma once

#include "mercury_types.h"

#include <atomic>
#include <cstdint>

struct hg_handle;
struct hg_proc;

namespace cinnabar::mercury {

class InputState {
  public:
    // `stays`: as Request::input_stays.
    void reset(bool stays) noexcept {
        stays_ = stays;
        state_.store(lent, std::memory_order_relaxed);
    }

    // The bytes never move, and reading them needs neither begin_read() nor end_read().
    [[nodiscard]] bool stays() const noexcept { return stays_; }

    // The bytes do not move between begin_read() and end_read(). Only one thread at a time may use a handle, but the
    // thread that ran the handler may call give_back() at the same time.
    void begin_read() noexcept {
        if (!stays_) begin_read_of_lent();
    }
    void end_read(hg_handle& handle) noexcept {
        if (!stays_) end_read_of_lent(handle);
    }
    // From now on the bytes do not move, because the user gets pointers to them.
    void settle(hg_handle& handle) noexcept;
    // As settle(), between begin_read and end_read; the bytes may have moved before.
    void settle_within(hg_handle& handle) noexcept;
    // Call it when the handler has returned and the handle is still referenced.
    void give_back(hg_handle& handle) noexcept;
    // Call it between begin_read and end_read when the bytes were released.
    void released() noexcept { state_.store(settled, std::memory_order_release); }

  private:
    void begin_read_of_lent() noexcept;
    void end_read_of_lent(hg_handle& handle) noexcept;
    void give_back_credit(hg_handle& handle) const noexcept;
    enum State : std::uint8_t {
        lent,
        reading,
        give_back_after,  // reading; end_read gives the memory back
        settled,
    };
    std::atomic<std::uint8_t> state_{lent};
    bool stays_ = false;
};

// The next bytes of a decoder, valid only until the next call, so they need not be settled. Null if there are fewer.
[[nodiscard]] const void* next_bytes(hg_proc& proc, hg_size_t bytes) noexcept;

}  // namespace cinnabar::mercury
