// SPDX-License-Identifier: BSD-3-Clause
// The second thread of a bare file server, and its checksum.
#pragma once

#include "../harness/buffers.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>

namespace cinnabar::bench {

inline constexpr std::size_t block_bytes = 1 << 20;
inline constexpr std::size_t blocks_in_flight = 8;

class Xxh3 {
  public:
    Xxh3() { XXH3_64bits_reset(state_.get()); }
    void update(const std::byte* bytes, std::size_t count) { XXH3_64bits_update(state_.get(), bytes, count); }
    [[nodiscard]] std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

  private:
    struct Free {
        void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

// Hashes and writes blocks in order while another thread receives. Throws std::runtime_error if it cannot.
class BlockWriter {
  public:
    BlockWriter(int file, bool hashed) : file_(file), hashed_(hashed), thread_([this] { run(); }) {}

    // Returns a buffer to receive into; blocks while all buffers wait to be written.
    std::byte* take() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return taken_ - written_ < blocks_in_flight; });
        return buffers_.at(taken_++ % blocks_in_flight);
    }
    // The same without blocking: null while all buffers wait.
    std::byte* take_if_free() {
        const std::lock_guard lock{mutex_};
        return taken_ - written_ < blocks_in_flight ? buffers_.at(taken_++ % blocks_in_flight) : nullptr;
    }
    // The oldest taken buffer that was not put yet contains `bytes` bytes.
    void put(std::size_t bytes) {
        {
            const std::lock_guard lock{mutex_};
            filled_.push_back(bytes);
        }
        changed_.notify_all();
    }
    // Waits for the last block; returns the checksum of all blocks.
    std::uint64_t finish() {
        put(0);
        thread_.join();
        if (failed_) throw std::runtime_error{"pwrite failed"};
        return sum_.digest();
    }

    [[nodiscard]] std::span<std::byte> memory() noexcept { return buffers_.all(); }

  private:
    void run() {
        std::uint64_t offset = 0;
        for (std::size_t index = 0;; ++index) {
            std::size_t bytes = 0;
            {
                std::unique_lock lock{mutex_};
                changed_.wait(lock, [&] { return !filled_.empty(); });
                bytes = filled_.front();
                filled_.pop_front();
            }
            if (bytes == 0) return;
            const auto* block = buffers_.at(index % blocks_in_flight);
            if (hashed_) sum_.update(block, bytes);
            if (pwrite(file_, block, bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) failed_ = true;
            offset += bytes;
            {
                const std::lock_guard lock{mutex_};
                ++written_;
            }
            changed_.notify_all();
        }
    }

    int file_;
    bool hashed_;
    bool failed_ = false;
    Buffers buffers_{blocks_in_flight, block_bytes};
    Xxh3 sum_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::size_t> filled_;
    std::uint64_t taken_ = 0;
    std::uint64_t written_ = 0;
    std::thread thread_;
};

}  // namespace cinnabar::bench
