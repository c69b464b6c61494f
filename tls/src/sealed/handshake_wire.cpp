// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/handshake_wire.hpp"

#include <cinnabar/na/peer.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace cinnabar::tls {

void HandshakeWire::begin(const na::Peer* peer) noexcept {
    end();
    peer_ = peer;
    is_cut_ = false;
}

void HandshakeWire::end() noexcept {
    in_ = {};
    out_ = {};
    sent_ = 0;
    peer_ = nullptr;
    is_cut_ = true;
}

void HandshakeWire::sent(std::size_t bytes) noexcept {
    sent_ += bytes;
    if (sent_ < out_.size()) return;
    out_ = {};
    sent_ = 0;
}

na::Moved HandshakeWire::receive(void* to, std::size_t bytes) noexcept {
    if (is_cut_) return {0, Errc::peer_lost};
    const std::size_t count = std::min(bytes, in_.size());
    if (count == 0) return {0, Errc::again};
    std::memcpy(to, in_.data(), count);
    in_ = in_.subspan(count);
    return {count, Errc::ok};
}

na::Moved HandshakeWire::send(const void* from, std::size_t bytes) noexcept {
    if (is_cut_) return {0, Errc::peer_lost};
    if (bytes > unsent_bytes_max - std::min(unsent_bytes_max, out_.size())) return {0, Errc::again};
    const auto* const begin = static_cast<const std::byte*>(from);
    try {
        out_.insert(out_.end(), begin, begin + bytes);
    } catch (const std::bad_alloc&) {
        return {0, Errc::again};
    }
    return {bytes, Errc::ok};
}

std::string HandshakeWire::log_name() const noexcept {
    return peer_ ? peer_->addr().log_name() : std::string("a peer");
}

}  // namespace cinnabar::tls
