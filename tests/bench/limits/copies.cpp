// SPDX-License-Identifier: BSD-3-Clause
#include "copies.hpp"

#include <cstring>
#include <thread>

namespace cinnabar::bench {

MemoryCopies::MemoryCopies(Cores cores, std::size_t bytes)
    : cores_(cores), bytes_(bytes), from_(new std::byte[bytes]), to_(new std::byte[bytes]) {
    std::memset(from_.get(), 0x5a, bytes);
    std::memset(to_.get(), 0, bytes);
}

double MemoryCopies::run(std::size_t times) {
    const auto copy = [this, times](int core, std::size_t from, std::size_t bytes) {
        pin_to(core);
        for (std::size_t i = 0; i < times; ++i) {
            std::memcpy(to_.get() + from, from_.get() + from, bytes);
            asm volatile("" ::"r"(to_.get()) : "memory");  // as if somebody read it
        }
    };
    const auto half = bytes_ / 2;
    const auto begin = seconds_now();
    std::thread other{copy, cores_.server, half, bytes_ - half};
    std::thread one{copy, cores_.client, std::size_t{0}, half};
    one.join();
    other.join();
    return seconds_now() - begin;
}

}  // namespace cinnabar::bench
