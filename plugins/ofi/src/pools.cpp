// SPDX-License-Identifier: BSD-3-Clause
#include "pools.hpp"

#include "port.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace cinnabar::ofi {
namespace {

// The maximum numbers for all peers of a port together: of admitted operations of this side, of large operations of
// peers, of chunks of both kinds of operations, and of control frames.
constexpr std::uint32_t transfers_max = 16 * 1024;
constexpr std::uint32_t requests_max = 64 * 1024;
constexpr std::uint32_t chunks_slots_max = 256 * 1024;
constexpr std::uint32_t controls_max = 64 * 1024;

// How long a peer may hold chunks without sending or answering, while others wait for chunks.
constexpr TimeUs silence_us = 5'000'000;

// How many receives may be posted for chunks. If a provider claims no more receives than the messages take, the claimed
// number is not a real limit (`net`, `sockets`).
std::size_t receives_for_chunks(OfiPort& port) noexcept {
    const std::size_t all = port.endpoint().receives_max();
    const std::size_t messages = port.provider().receives;
    const std::size_t staging = port.transport().staging();
    if (all <= messages) return staging;
    return std::min<std::size_t>(std::max<std::size_t>(all - messages, chunks_max), staging);
}

}  // namespace

Pools::Pools(OfiPort& port)
    : controls(ThreadUse::one, controls_max, small_bytes_max, frame_header_bytes + transfer_body_bytes,
               port.transport().trailer_bytes(), true),
      sealed(ThreadUse::one, port.options().send_slots_max, port.options().message_bytes_max, frame_header_bytes,
             port.transport().trailer_bytes(), false),
      transfers(ThreadUse::one, transfers_max),
      requests(ThreadUse::one, requests_max),
      chunks(ThreadUse::one, chunks_slots_max),
      receive_room(receives_for_chunks(port)),
      port_(port),
      staging_(ThreadUse::one, port.transport().staging()),
      served_staging_(ThreadUse::one, port.transport().staging()) {}

// Ends the session for which `held` returns the largest number. Sessions that wait for their peer are ended first,
// because if a peer reads, its session holds much for a moment only. False: the session `asks` would be the one to end.
bool Pools::end_largest(std::uint32_t (*held)(const Session&) noexcept, Session& asks) noexcept {
    Session* largest = nullptr;
    const auto before = [held](const Session& one, const Session& other) {
        const bool waits = one.waits_for_peer();
        return waits != other.waits_for_peer() ? waits : held(one) > held(other);
    };
    port_.sessions().for_each([&](Session& session) {
        if (!session.live() || held(session) == 0) return;
        if (!largest || before(session, *largest)) largest = &session;
    });
    if (!largest || largest == &asks) return false;
    largest->forfeit(Errc::overloaded);
    return true;
}

Buffer* Pools::take_control(Session& asks) noexcept {
    constexpr auto waiting = [](const Session& session) noexcept { return session.sender().controls_waiting(); };
    Buffer* control = controls.take(port_);
    if (!control && end_largest(waiting, asks)) control = controls.take(port_);
    return control;
}

PeerRequest* Pools::take_request(Session& asks) noexcept {
    constexpr auto served = [](const Session& session) noexcept { return session.owner().requests(); };
    PeerRequest* request = requests.acquire();
    if (!request && end_largest(served, asks)) request = requests.acquire();
    return request;
}

Transfer* Pools::take_transfer(Session& asks) noexcept {
    constexpr auto unanswered = [](const Session& session) noexcept { return session.origin().unanswered(); };
    Transfer* transfer = transfers.acquire();
    if (!transfer) (void)end_largest(unanswered, asks);
    return transfer;
}

void Pools::end_silent(WaitsSince waits_since, TimeUs& looked_at, const Session& asks) noexcept {
    const TimeUs now = port_.host().now_us();
    if (now < looked_at + silence_us / 8) return;
    looked_at = now;
    Session* silent = nullptr;
    port_.sessions().for_each([&](Session& session) {
        if (!session.live() || &session == &asks) return;
        if (!silent || waits_since(session) < waits_since(*silent)) silent = &session;
    });
    if (silent && waits_since(*silent) < now - silence_us) silent->forfeit(Errc::timed_out);
}

void Pools::end_silent_writer(const Session& asks) noexcept {
    constexpr auto since = [](const Session& session) noexcept { return session.owner().put_waits_since(); };
    end_silent(since, writers_looked_at_, asks);
}

void Pools::end_silent_lender(const Session& asks) noexcept {
    constexpr auto since = [](const Session& session) noexcept { return session.origin().unanswered_since(); };
    end_silent(since, lenders_looked_at_, asks);
}

void Pools::end_silent_stager(const Session& asks, bool served) noexcept {
    constexpr auto of_gets = [](const Session& session) noexcept { return session.chunks().copies_since(true); };
    constexpr auto of_puts = [](const Session& session) noexcept { return session.chunks().copies_since(false); };
    if (served) {
        end_silent_writer(asks);
        end_silent(of_gets, readers_looked_at_[served], asks);
    } else {
        end_silent_lender(asks);
        end_silent(of_puts, readers_looked_at_[served], asks);
    }
}

Staging* Pools::take_staging(bool served) noexcept {
    SlotPool<Staging>& pool = served ? served_staging_ : staging_;
    Staging* staging = pool.acquire();
    if (!staging || staging->bytes) return staging;
    staging->pool = &pool;
    const std::size_t bytes = staging_bytes();
    staging->bytes.reset(new (std::nothrow) std::byte[bytes]);
    const Registrar& registrar = port_.endpoint().registrar();
    const bool known = staging->bytes && (!registrar.wants_local() ||
                                          registrar.local({staging->bytes.get(), bytes}, staging->memory) == Errc::ok);
    if (known) return staging;
    staging->bytes.reset();
    pool.release(*staging);
    return nullptr;
}

std::size_t Pools::staging_bytes() const noexcept {
    return port_.provider().chunk_bytes + port_.transport().trailer_bytes();
}

Staging* Pools::sink() noexcept {
    if (!sink_) sink_ = take_staging(false);
    return sink_;
}

void Pools::close() noexcept {
    if (sink_) give_staging(*std::exchange(sink_, nullptr));
    for (SlotPool<Staging>* pool : {&staging_, &served_staging_}) {
        pool->for_each([](Staging& staging) { staging.memory.reset(); });
    }
}

}  // namespace cinnabar::ofi
