// SPDX-License-Identifier: BSD-3-Clause
// A Receiver that records arrivals. A test may inspect each arrival in `on_arrival`.
#pragma once

#include <cinnabar/na/arrival.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace cinnabar::support {

class RecordingReceiver final : public na::Receiver {
  public:
    struct Got {
        bool expected = false;
        na::Peer* source = nullptr;
        na::Tag tag = 0;
        std::vector<std::byte> bytes;
    };
    struct Notified {
        na::Peer* source = nullptr;
        std::uint32_t value = 0;
    };
    struct Seen {
        na::Peer* peer = nullptr;
        na::PeerEvent event = na::PeerEvent::connected;
        Errc why = Errc::ok;
    };

    std::vector<Got> messages;
    std::vector<Notified> notified;
    std::vector<Seen> events;
    // Runs for each arrival after it was recorded; if `record` is false, nothing else is recorded.
    std::function<void(na::Arrival&)> on_arrival;
    std::function<void(na::Peer&, std::uint32_t)> on_notified;
    std::function<void(na::Peer&, na::PeerEvent, Errc)> on_event;
    bool record = true;
    std::function<void(na::Tag, Bytes)> on_late;  // of messages that were delayed

    [[nodiscard]] std::size_t count(na::PeerEvent event) const {
        return static_cast<std::size_t>(
            std::count_if(events.begin(), events.end(), [event](const Seen& seen) { return seen.event == event; }));
    }
    [[nodiscard]] std::size_t count_tag(na::Tag tag) const {
        return static_cast<std::size_t>(
            std::count_if(messages.begin(), messages.end(), [tag](const Got& got) { return got.tag == tag; }));
    }

    void on_unexpected(na::Arrival& arrival) noexcept override { take(arrival, false); }
    void on_expected(na::Arrival& arrival) noexcept override { take(arrival, true); }
    void on_notify(na::Peer& peer, std::uint32_t value) noexcept override {
        notified.push_back({&peer, value});
        if (on_notified) on_notified(peer, value);
    }
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept override {
        events.push_back({&peer, event, why});
        if (on_event) on_event(peer, event, why);
    }
    void on_delayed(na::Peer&, na::OpKind, na::Tag tag, Bytes message) noexcept override {
        if (on_late) on_late(tag, message);
    }

  private:
    void take(na::Arrival& arrival, bool expected) {
        if (record) {
            messages.push_back({expected, arrival.source, arrival.tag, {arrival.bytes.begin(), arrival.bytes.end()}});
        }
        if (on_arrival) on_arrival(arrival);
    }
};

}  // namespace cinnabar::support
