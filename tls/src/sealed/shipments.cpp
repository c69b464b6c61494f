// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/shipments.hpp"

#include "sealed/session.hpp"

#include <utility>

namespace cinnabar::tls {

Shipment* Shipments::take() noexcept {
    Shipment* const shipment = pool_.acquire();
    if (!shipment) return nullptr;
    shipment->op.message = below_->take_message();
    if (!shipment->op.message) {
        pool_.release(*shipment);
        return nullptr;
    }
    shipment->op.kind = na::OpKind::send_unexpected;
    shipment->op.tag = 0;
    shipment->op.user = shipment;
    return shipment;
}

void Shipments::give(Shipment& shipment) noexcept {
    below_->give_message(*std::exchange(shipment.op.message, nullptr));
    shipment.session = nullptr;
    pool_.release(shipment);
}

Errc Shipments::post(Shipment& shipment, na::Peer& to) noexcept {
    na::Op& op = shipment.op;
    op.peer = &to;
    op.state = na::OpState::posted;
    op.result = Errc::ok;
    to.acquire();
    const Errc taken = below_->post(op);
    if (taken == Errc::ok) return Errc::ok;
    op.state = na::OpState::idle;
    to.release();
    return taken;
}

void Shipments::returned(na::Op& op, Errc result) noexcept {
    auto& shipment = *static_cast<Shipment*>(op.user);
    SealedSession& session = *shipment.session;
    na::Peer& below = *op.peer;
    const bool data = shipment.data;
    op.state = na::OpState::idle;
    give(shipment);
    session.returned(data, result);
    below.release();
}

}  // namespace cinnabar::tls
