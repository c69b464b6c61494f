// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/frame_pool.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <new>

namespace cinnabar::hl {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

constexpr std::size_t class_step_bytes = 128;
constexpr std::size_t classes = 32;              // frames up to 4 KiB; larger ones are rare and not kept
constexpr std::uint32_t thread_frames_max = 64;  // of each class
constexpr std::uint32_t batch_frames = 32;       // moved together between a thread and the reserve
constexpr std::uint32_t reserve_frames_max = 16'384;

struct Free {
    Free* next;
};

struct Stack {
    Free* top = nullptr;
    std::uint32_t count = 0;

    void push(void* frame) noexcept {
        top = new (frame) Free{top};
        ++count;
    }
    void* pop() noexcept {
        Free* frame = top;
        if (frame) {
            top = frame->next;
            --count;
        }
        return frame;
    }
};

struct Reserve {
    std::mutex mutex;
    std::array<Stack, classes> stacks;
};

// Never destroyed: threads give their frames back when they end.
Reserve& reserve() {
    static auto* const shared = new Reserve;
    return *shared;
}

void move(Stack& from, Stack& to, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
        void* frame = from.pop();
        if (!frame) return;
        to.push(frame);
    }
}

struct ThreadFrames {
    std::array<Stack, classes> stacks;

    ~ThreadFrames() {
        const std::lock_guard lock(reserve().mutex);
        for (std::size_t i = 0; i < classes; ++i) move(stacks[i], reserve().stacks[i], stacks[i].count);
    }
    void* take(std::size_t index) noexcept {
        Stack& mine = stacks[index];
        if (!mine.top) {
            const std::lock_guard lock(reserve().mutex);
            move(reserve().stacks[index], mine, batch_frames);
        }
        return mine.pop();
    }
    void give(std::size_t index, void* frame) noexcept {
        Stack& mine = stacks[index];
        mine.push(frame);
        if (mine.count <= thread_frames_max) return;
        Stack surplus;
        {
            const std::lock_guard lock(reserve().mutex);
            Stack& shared = reserve().stacks[index];
            move(mine, shared.count < reserve_frames_max ? shared : surplus, batch_frames);
        }
        while (void* old = surplus.pop()) ::operator delete(old);
    }
};

// Set when the thread ends and its free lists are gone: destructors of other thread-locals may still free frames.
thread_local bool the_thread_ended = false;

struct ThreadHolder {
    ThreadFrames frames;
    ~ThreadHolder() { the_thread_ended = true; }
};

ThreadFrames* thread_frames() noexcept {
    if (the_thread_ended) return nullptr;
    thread_local ThreadHolder holder;
    return &holder.frames;
}

constexpr std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / class_step_bytes; }

}  // namespace

void* take_frame(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (!pooled || index >= classes) return ::operator new(bytes);
    if (ThreadFrames* frames = thread_frames()) {
        if (void* frame = frames->take(index)) return frame;
    }
    return ::operator new((index + 1) * class_step_bytes);
}

void give_frame(void* frame, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    if (pooled && index < classes) {
        if (ThreadFrames* frames = thread_frames()) return frames->give(index, frame);
    }
    ::operator delete(frame);
}

}  // namespace cinnabar::hl
