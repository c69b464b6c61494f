// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include <new>

namespace cinnabar::self_ {

SelfPeers::SelfPeers(na::Port& port, SelfTransport& transport)
    : port_(port), transport_(transport), own_(transport.options().contexts_max) {}

SelfPeer* SelfPeers::make(na::ContextId context) {
    if (context >= own_.size()) return nullptr;
    auto& peer = own_[context];
    peer = std::make_unique<SelfPeer>(port_, transport_.addr_of(context));
    peer->message_bytes_max_ = static_cast<std::uint32_t>(transport_.limits().message_bytes_max);
    return peer.get();
}

SelfPeer& SelfPeers::at(const std::string& endpoint, na::ContextId context) {
    const na::Addr addr = na::Addr::make({endpoint}, context, 0);
    for (auto& peer : others_) {
        if (peer->addr() == addr) return *peer;
    }
    auto& made = others_.emplace_back(std::make_unique<SelfPeer>(port_, addr));
    made->message_bytes_max_ = static_cast<std::uint32_t>(transport_.limits().message_bytes_max);
    return *made;
}

SelfPeer* SelfPeers::sender_of(const MailboxItem& item) noexcept try {
    if (item.network == transport_.incarnation()) return of(item.source);
    if (item.kind == ItemKind::connect) return &at(item.from->network().endpoint, item.source);
    for (auto& peer : others_) {
        if (peer->incarnation_ == item.network && peer->context() == item.source) return peer.get();
    }
    return nullptr;
} catch (const std::bad_alloc&) {
    return nullptr;
}

}  // namespace cinnabar::self_
