// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/group/profile.hpp>
#include <cinnabar/rpc/proc.hpp>
#include <cinnabar/rpc/proc_addr.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

namespace cinnabar::group {

// The encoded profile follows it in memory.
struct Profile::Body {
    std::atomic<std::uint32_t> references{1};
    std::uint16_t bytes = 0;
    std::uint16_t address_bytes = 0;  // of these, the first ones
};

bool Profile::can_have(const na::Addr& address, const Labels& labels) noexcept {
    std::size_t bytes = 0;
    for (const auto& [name, value] : labels) bytes += name.size() + value.size();
    return address.listens() && labels.size() <= labels_max && bytes <= labels_bytes_max;
}

Profile::Profile(const na::Addr& address, const Labels& labels, bool side_loop) {
    CINNABAR_ASSERT(can_have(address, labels));
    rpc::Sizer sizer;
    sizer(address);
    const std::size_t address_bytes = sizer.size();
    sizer(labels, side_loop);
    const std::size_t bytes = sizer.size();  // at most 3,224: an address has at most 8 endpoints, of 255 bytes each
    auto* const body = new (::operator new(sizeof(Body) + bytes)) Body;
    body->bytes = static_cast<std::uint16_t>(bytes);
    body->address_bytes = static_cast<std::uint16_t>(address_bytes);
    body_ = body;
    rpc::Encoder encoder(Bytes(reinterpret_cast<std::byte*>(body + 1), bytes));
    encoder(address, labels, side_loop);
    CINNABAR_ASSERT(encoder.ok());
}

ConstBytes Profile::encoded() const noexcept {
    return body_ ? ConstBytes(reinterpret_cast<const std::byte*>(body_ + 1), body_->bytes) : ConstBytes();
}

ConstBytes Profile::encoded_address() const noexcept {
    return body_ ? encoded().first(body_->address_bytes) : ConstBytes();
}

na::Addr Profile::address() const {
    na::Addr address;
    if (body_) (void)rpc::decode(encoded_address(), address);
    return address;
}

Labels Profile::labels() const {
    Labels labels;
    if (body_) (void)rpc::decode(encoded().subspan(body_->address_bytes), labels);
    return labels;
}

bool Profile::side_loop() const noexcept { return body_ && encoded().back() != std::byte{0}; }

bool Profile::has_address_of(const Profile& other) const noexcept {
    return std::ranges::equal(encoded_address(), other.encoded_address());
}

bool operator==(const Profile& a, const Profile& b) noexcept {
    return a.body_ == b.body_ || std::ranges::equal(a.encoded(), b.encoded());
}

void Profile::acquire() const noexcept {
    if (body_) body_->references.fetch_add(1, std::memory_order_relaxed);
}

void Profile::release() noexcept {
    if (!body_ || body_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::destroy_at(body_);
    ::operator delete(body_);
}

}  // namespace cinnabar::group
