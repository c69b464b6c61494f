// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/executor.hpp>

#include <utility>

namespace cinnabar::hl {
namespace {
thread_local Executor* the_current = nullptr;
}  // namespace

Executor* Executor::current() noexcept { return the_current; }

Executor::Turn::Turn(Executor& executor) noexcept : before_(std::exchange(the_current, &executor)) {}
Executor::Turn::~Turn() { the_current = before_; }

}  // namespace cinnabar::hl
