// SPDX-License-Identifier: BSD-3-Clause
#include "hot_connections.hpp"

#include <utility>

namespace cinnabar::tcp {
namespace {

// Reads in a row without data before a connection is no longer hot.
constexpr std::uint16_t misses_max = 256;
// For how many rounds no connection is hot after more were active than can be hot.
constexpr std::uint32_t rounds_off = 1024;

}  // namespace

void HotConnections::add(Connection& connection) noexcept {
    connection.misses = 0;
    if (connection.hot || rounds_off_ > 0 || !host_.spins()) return;
    if (count_ == count_max) {
        while (count_ > 0) cool(count_ - 1);
        rounds_off_ = rounds_off;
        return;
    }
    connection.hot = true;
    hot_[count_++] = &connection;
    if (connection.urgent()) std::swap(hot_[0], hot_[count_ - 1]);
}

void HotConnections::cool(std::size_t index) noexcept {
    hot_[index]->hot = false;
    hot_[index] = hot_[--count_];
}

void HotConnections::remove(Connection& connection) noexcept {
    for (std::size_t i = 0; connection.hot && i < count_; ++i) {
        if (hot_[i] == &connection) cool(i);
    }
}

unsigned HotConnections::receive() noexcept {
    if (rounds_off_ > 0) --rounds_off_;
    unsigned did = 0;
    for (std::size_t i = 0; i < count_;) {
        Connection& connection = *hot_[i];
        ++connection.misses;
        did += connection.receive();
        if (i >= count_ || hot_[i] != &connection) continue;  // receive() removed it, or all
        if (connection.misses > misses_max) {
            cool(i);
        } else {
            ++i;
        }
    }
    return did;
}

}  // namespace cinnabar::tcp
