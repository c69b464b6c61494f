// SPDX-License-Identifier: BSD-3-Clause
#include "control_queue.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t kept_records_max = 64;  // the list keeps at most this capacity when it is empty

constexpr std::uint16_t bit(ControlType type) noexcept {
    return static_cast<std::uint16_t>(1u << static_cast<unsigned>(type));
}
constexpr bool answers_a_request(ControlType type) noexcept {
    return type == ControlType::released || type == ControlType::refused;
}
constexpr bool names_a_call(ControlType type) noexcept {
    return type == ControlType::cancel || answers_a_request(type) || type == ControlType::fetched;
}
// The values of grants and returned credits add up; for a ping or a recall only the last value counts.
constexpr bool adds_up(ControlType type) noexcept {
    return type == ControlType::grant || type == ControlType::returned;
}

}  // namespace

bool ControlQueue::put(const ControlRecord& record) noexcept {
    if (names_a_call(record.type)) {
        try {
            of_calls_.push_back(record);
        } catch (const std::bad_alloc&) {
            return false;
        }
        if (answers_a_request(record.type)) ++answers_;
        return true;
    }
    std::uint32_t& value = values_[static_cast<std::size_t>(record.type)];
    const bool waits = (waiting_ & bit(record.type)) != 0;
    value = waits && adds_up(record.type) ? value + record.value : record.value;
    waiting_ |= bit(record.type);
    return true;
}

ControlQueue::Batch ControlQueue::next(std::size_t count_max) const noexcept {
    Batch batch;
    batch.types = waiting_;
    const auto types = [&batch] { return static_cast<std::size_t>(std::popcount(batch.types)); };
    batch.of_calls = std::min(of_calls_.size(), count_max - types());
    if (batch.of_calls < of_calls_.size()) batch.types &= static_cast<std::uint16_t>(~bit(ControlType::leave));
    batch.count = types() + batch.of_calls;
    return batch;
}

void ControlQueue::encode(const Batch& batch, ByteWriter& writer) const noexcept {
    const auto encode_waiting = [&](bool leave) {
        for (std::size_t type = 1; type < control_types; ++type) {
            const auto each = static_cast<ControlType>(type);
            if ((batch.types & bit(each)) == 0 || (each == ControlType::leave) != leave) continue;
            encode_control({each, values_[type], 0}, writer);
        }
    };
    encode_waiting(false);
    for (std::size_t i = 0; i < batch.of_calls; ++i) encode_control(of_calls_[i], writer);
    encode_waiting(true);
}

void ControlQueue::taken(const Batch& batch) noexcept {
    waiting_ &= static_cast<std::uint16_t>(~batch.types);
    const auto end = of_calls_.begin() + static_cast<std::ptrdiff_t>(batch.of_calls);
    answers_ -= static_cast<std::size_t>(
        std::count_if(of_calls_.begin(), end, [](const auto& each) { return answers_a_request(each.type); }));
    of_calls_.erase(of_calls_.begin(), end);
    if (of_calls_.empty() && of_calls_.capacity() > kept_records_max) of_calls_ = {};
}

void ControlQueue::clear() noexcept {
    waiting_ = 0;
    answers_ = 0;
    of_calls_ = {};
}

}  // namespace cinnabar::rpc
