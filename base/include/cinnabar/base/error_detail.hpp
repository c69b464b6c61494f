// SPDX-License-Identifier: BSD-3-Clause
// ErrorDetail: facts about an error beyond its code and its text, for programs that act on such facts. A layer derives
// a class of its own, and provides a function that gets the detail from an error (hl/call_ending.hpp). A detail does
// not change once an error has it, so any thread may read the detail.
#pragma once

#include <cinnabar/base/export.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace cinnabar {

class CINNABAR_API ErrorDetail {
  public:
    virtual ~ErrorDetail();
    ErrorDetail(const ErrorDetail&) = delete;
    ErrorDetail& operator=(const ErrorDetail&) = delete;

  protected:
    ErrorDetail() = default;

  private:
    friend class SharedDetail;
    mutable std::atomic<std::uint32_t> holders_{1};
};

// A reference to a detail, which all copies of an error share; as large as a pointer.
class SharedDetail {
  public:
    SharedDetail() = default;
    explicit SharedDetail(std::unique_ptr<const ErrorDetail> detail) noexcept : detail_(detail.release()) {}
    SharedDetail(const SharedDetail& other) noexcept : detail_(other.detail_) {
        if (detail_) detail_->holders_.fetch_add(1, std::memory_order_relaxed);
    }
    SharedDetail(SharedDetail&& other) noexcept : detail_(std::exchange(other.detail_, nullptr)) {}
    SharedDetail& operator=(const SharedDetail& other) noexcept {
        SharedDetail copy(other);
        std::swap(detail_, copy.detail_);
        return *this;
    }
    SharedDetail& operator=(SharedDetail&& other) noexcept {
        SharedDetail taken(std::move(other));
        std::swap(detail_, taken.detail_);
        return *this;
    }
    ~SharedDetail() {
        if (detail_) release();
    }

    // Null: there is none. Valid as long as this object, or a copy of it, refers to it.
    [[nodiscard]] const ErrorDetail* get() const noexcept { return detail_; }

  private:
    CINNABAR_API void release() noexcept;
    const ErrorDetail* detail_ = nullptr;
};

}  // namespace cinnabar
