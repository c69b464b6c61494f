// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/outlet.hpp"

#include "sealed/port.hpp"
#include "sealed/session.hpp"

#include <cinnabar/base/assert.hpp>

#include <span>

namespace cinnabar::tls {

void Outlet::begin() noexcept {
    CINNABAR_ASSERT(shipped_ == 0);
    sealed_ = 0;
    data_shipped_ = 0;
    guard_ = nullptr;
}

bool Outlet::has_room(bool data) const noexcept {
    const bool scarce = session_.port().shipments().scarce();
    return shipped_ < (scarce ? shipped_max_if_scarce : shipped_max) && (!data || data_shipped_ < data_shipped_max);
}

bool Outlet::draft(Draft& out, bool data) noexcept {
    if (!has_room(data)) return false;
    SealedPort& port = session_.port();
    Shipment* const shipment = port.shipments().take();
    if (!shipment) {
        port.output().block(session_);
        return false;
    }
    shipment->session = &session_;
    shipment->data = data;
    out = {shipment, shipment->op.message->payload};
    return true;
}

void Outlet::discard(const Draft& draft) noexcept { session_.port().shipments().give(*draft.shipment); }

bool Outlet::ship(const Draft& draft, std::size_t bytes) noexcept {
    na::Peer& below = session_.below();
    if (bytes > below.message_bytes_max()) {
        discard(draft);
        session_.fail(Errc::protocol);  // its greeting promised more than it accepts
        return false;
    }
    const bool data = draft.shipment->data;
    draft.shipment->op.message_bytes = static_cast<std::uint32_t>(bytes);
    const Errc taken = session_.port().shipments().post(*draft.shipment, below);
    if (taken == Errc::ok) {
        ++shipped_;
        if (data) ++data_shipped_;
        return true;
    }
    discard(draft);
    if (taken == Errc::again) {
        session_.port().output().block(session_);
    } else {
        session_.fail(taken);
    }
    return false;
}

// A message that was sealed, but that the transport below did not take, is sealed again later with the same number.
bool Outlet::seal(const Draft& draft, const SealedHead& head, std::size_t bytes) noexcept {
    const std::span<std::byte, envelope_bytes> envelope(draft.bytes, envelope_bytes);
    std::byte* const plain = draft.bytes + envelope_bytes;
    encode_envelope(Envelope::sealed, envelope);
    head.encode(std::span<std::byte, sealed_head_bytes>(plain, sealed_head_bytes));
    const SealedContext context = context_of(envelope, sealed_);
    const std::size_t plain_bytes = sealed_head_bytes + bytes;
    if (!guard_ || !guard_->seal(na::MessageGuard::Kind::frame, context, {plain, plain_bytes}, plain)) {
        discard(draft);
        session_.fail(Errc::out_of_memory);
        return false;
    }
    if (!ship(draft, envelope_bytes + plain_bytes + na::MessageGuard::trailer_bytes)) return false;
    ++sealed_;
    return true;
}

void Outlet::returned(bool data) noexcept {
    CINNABAR_ASSERT(shipped_ > 0);
    --shipped_;
    if (data) --data_shipped_;
}

}  // namespace cinnabar::tls
