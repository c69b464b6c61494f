// SPDX-License-Identifier: BSD-3-Clause
// The names of RPCs and peers as they are written to a trace file. Most spans have the same name and peer as a span
// shortly before, so recent texts are kept, each at a place that depends on the name or the peer. One thread.
#pragma once

#include "trace_text.hpp"

#include <cinnabar/na/addr.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::hl {

class TraceNames {
  public:
    // Valid until the next call. Requires: `name` is in static storage.
    [[nodiscard]] std::string_view of_rpc(std::string_view name) {
        Rpc& kept = rpcs_[place_of(reinterpret_cast<std::uintptr_t>(name.data()))];
        if (kept.name.data() != name.data() || kept.name.size() != name.size()) {
            kept.text = TraceText::cut(name);
            kept.name = name;
        }
        return kept.text;
    }
    [[nodiscard]] std::string_view of_peer(const na::Addr& peer) {
        Peer& kept = peers_[place_of(peer.empty() ? 0 : peer.body().hash)];
        if (!(kept.peer == peer)) {
            kept.text = peer.empty() ? std::string() : TraceText::plain(peer.log_name());
            kept.peer = peer;
        }
        return kept.text;
    }

  private:
    struct Rpc {
        std::string_view name;
        std::string text;
    };
    struct Peer {
        na::Addr peer;
        std::string text;
    };
    static constexpr unsigned bits = 5;

    [[nodiscard]] static std::size_t place_of(std::uint64_t key) noexcept {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> (64 - bits));
    }
    std::array<Rpc, 1u << bits> rpcs_;
    std::array<Peer, 1u << bits> peers_;
};

}  // namespace cinnabar::hl
