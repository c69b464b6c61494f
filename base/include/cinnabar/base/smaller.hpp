// SPDX-License-Identifier: BSD-3-Clause
// The smaller and the larger of two numbers, for headers that every program includes. Such headers do not include
// <algorithm> for std::min, because <algorithm> has thousands of other lines (decision 0123).
#pragma once

namespace cinnabar {

template <class T>
[[nodiscard]] constexpr T smaller_of(T a, T b) noexcept {
    return b < a ? b : a;
}
template <class T>
[[nodiscard]] constexpr T larger_of(T a, T b) noexcept {
    return a < b ? b : a;
}

}  // namespace cinnabar
