// SPDX-License-Identifier: BSD-3-Clause
#include "behaviours.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace cinnabar::hostile {
namespace {

constexpr std::uint64_t a_minute = 60'000'000;
constexpr std::size_t lent_bytes = 4u << 20;

// Sends as if each reply had arrived and returned its credit.
void floods_unread(RudePeer& peer, unsigned) {
    for (int i = 0; i < 32; ++i) (void)peer.request(rpc::rpc_id("nobody serves this"), {}, 0, a_minute);
}

// Keeps to its credits, but always asks for more, without a deadline.
void asks_for_everything(RudePeer& peer, unsigned) {
    while (peer.credits() != 0 && peer.request(answered, {}, rpc::flag_wants_credits)) {
    }
}

void wants_credits_then_silent(RudePeer& peer, unsigned step) {
    if (step < 20 && peer.credits() != 0) (void)peer.request(answered, {}, rpc::flag_wants_credits);
}

void sends_no_frames(RudePeer& peer, unsigned step) {
    std::array<std::byte, 40> bytes{};
    bytes[0] = static_cast<std::byte>(step % 5);
    (void)peer.frame(bytes, step);
}

// A control message with a wrong count of records.
void lies_in_control(RudePeer& peer, unsigned) {
    constexpr std::array<std::byte, 24> bytes{std::byte{3}, std::byte{1}, std::byte{7}};
    (void)peer.frame(bytes, 0);
}

void pings_without_end(RudePeer& peer, unsigned) {
    const std::vector<rpc::ControlRecord> pings(200, {rpc::ControlType::ping, 0, 1});
    (void)peer.control(pings, rpc::control_wants_ack);
}

void cancels_what_is_not_there(RudePeer& peer, unsigned step) {
    std::vector<rpc::ControlRecord> cancels;
    for (std::uint64_t i = 0; i < 200; ++i) cancels.push_back({rpc::ControlType::cancel, 0, (step * 200 + i) << 24});
    (void)peer.control(cancels, rpc::control_wants_ack);
}

// As fast as it may: the next message as soon as the last one is acknowledged.
void cancels_without_end(RudePeer& peer, unsigned step) {
    if (!peer.awaits_ack()) cancels_what_is_not_there(peer, step);
}

void cancels_what_it_asks(RudePeer& peer, unsigned step) {
    if (peer.credits() == 0 || peer.awaits_ack()) return;
    if (!peer.request(held, {}, rpc::flag_wants_credits)) return;
    const rpc::ControlRecord cancel{rpc::ControlType::cancel, 0, (std::uint64_t{step} << 24) | 1};
    (void)peer.control({&cancel, 1}, rpc::control_wants_ack);
}

void fetches_no_results(RudePeer& peer, unsigned) {
    if (peer.credits() != 0) (void)peer.request(large_result, {}, rpc::flag_wants_credits);
}

// Sends as many requests as it may, then nothing. Neither its large arguments nor the memory that a handler wants to
// pull ever arrive, since it does not serve its memory.
void lends_and_is_silent(RudePeer& peer, unsigned step) {
    if (peer.credits() == 0) return;
    std::array<std::byte, 512> room;
    const ConstBytes descriptor = peer.lend(lent_bytes, room);
    (void)peer.request(step % 2 == 0 ? pulled : answered, descriptor,
                       step % 2 == 0 ? std::uint16_t{0} : rpc::flag_large);
}

void sends_one_way(RudePeer& peer, unsigned) {
    while (peer.credits() != 0 && peer.request(held, {}, rpc::flag_one_way | rpc::flag_wants_credits)) {
    }
}

// Reads all of the memory that is lent to it again and again, and takes no answers. It looks until one read has ended,
// since some networks make another connection for the first read.
void reads_and_takes_nothing(RudePeer& peer, unsigned) {
    peer.remember();
    if (peer.results().empty()) {
        if (peer.credits() != 0) (void)peer.request(large_result, {}, rpc::flag_wants_credits);
        return peer.look();
    }
    const ConstBytes descriptor = peer.results().back().descriptor;
    if (peer.reads_ended() == 0) {
        if (!peer.is_reading()) peer.read(descriptor, [](Errc) {});
        return peer.look();
    }
    for (int i = 0; i < 4; ++i) peer.read(descriptor, [](Errc) {});
}

constexpr Behaviour all[] = {
    {"FloodsUnread", false, floods_unread},
    {"AsksForEverything", true, asks_for_everything},
    {"WantsCreditsThenSilent", true, wants_credits_then_silent},
    {"SendsNoFrames", true, sends_no_frames},
    {"LiesInControl", true, lies_in_control},
    {"PingsWithoutEnd", false, pings_without_end},
    {"CancelsWhatIsNotThere", false, cancels_what_is_not_there},
    {"CancelsWithoutEnd", true, cancels_without_end},
    {"CancelsWhatItAsks", true, cancels_what_it_asks},
    {"FetchesNoResults", true, fetches_no_results},
    {"LendsAndIsSilent", false, lends_and_is_silent, true},
    {"SendsOneWay", true, sends_one_way},
    {"ReadsAndTakesNothing", false, reads_and_takes_nothing},
};

}  // namespace

std::span<const Behaviour> behaviours() noexcept { return all; }

const Behaviour* behaviour(std::string_view name) noexcept {
    const auto* const found = std::ranges::find(all, name, &Behaviour::name);
    return found != std::end(all) ? found : nullptr;
}

const Behaviour& busy_and_honest() noexcept {
    static constexpr Behaviour behaviour{"IsBusyAndHonest", true, asks_for_everything};
    return behaviour;
}

// The behaviour is hostile only if the peer never looks. This one looks.
const Behaviour& busy_and_lending() noexcept {
    static constexpr Behaviour behaviour{"IsBusyAndLends", true, lends_and_is_silent, true};
    return behaviour;
}

}  // namespace cinnabar::hostile
