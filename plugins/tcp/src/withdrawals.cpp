// SPDX-License-Identifier: BSD-3-Clause
#include "withdrawals.hpp"

#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

constexpr unsigned looks_max = 8;  // per round

}  // namespace

Withdrawals::Withdrawals(TcpPort& port) noexcept : port_(port) {
    work_.user = this;
    work_.run = [](Work& work) noexcept { static_cast<Withdrawals*>(work.user)->look(); };
}

// A port without connections has nothing to check, and perhaps no open context either. A connection that begins
// meanwhile is checked against the new keys when it begins.
void Withdrawals::renewed() noexcept {
    renewed_ = true;
    if (used_) schedule();
}

void Withdrawals::schedule() noexcept {
    if (!queued_.exchange(true)) port_.host().submit(work_);
}

void Withdrawals::began(Connection& connection) noexcept {
    used_ = true;
    ++count_;
    if (port_.transport().guards()->knows(*connection.guard())) return guarded_.push_back(connection);
    guarded_.push_front(connection);
    ++left_;
    schedule();
}

void Withdrawals::remove(Connection& connection) noexcept {
    if (!Connections::linked(connection)) return;
    guarded_.remove(connection);
    left_ = std::min(left_, --count_);
}

void Withdrawals::look() noexcept {
    queued_ = false;
    if (renewed_.exchange(false)) left_ = count_;
    for (unsigned looks = 0; looks < looks_max && left_ > 0; ++looks) {
        --left_;
        Connection& connection = *guarded_.pop_front();
        guarded_.push_back(connection);
        if (!port_.transport().guards()->knows(*connection.guard())) connection.withdraw();
    }
    if (left_ > 0) schedule();
    (void)port_.settle();
}

}  // namespace cinnabar::tcp
