// SPDX-License-Identifier: BSD-3-Clause
// ShmPort: how sessions begin and end.
#include "channel.hpp"
#include "peer_fd.hpp"
#include "port.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <unistd.h>

#include <optional>

namespace cinnabar::shm {
namespace {

// Where to dial: the first endpoint of the address that this transport reaches.
Result<DialTarget> dial_target(const na::AddrBody& body, const na::Transport& transport) {
    for (const std::string& endpoint : body.endpoints) {
        if (!transport.reaches(endpoint)) continue;
        CINNABAR_TRY(const na::Uri uri, na::Uri::parse(endpoint));
        if (uri.port || !good_name(uri.host)) {
            return Error(Errc::bad_address, "a peer in shared memory has a name: shm://NAME", endpoint);
        }
        CINNABAR_TRY(AllowedUsers allowed, AllowedUsers::of_known(uri));
        const auto group = allowed.group;
        return DialTarget{uri.host, Directory(std::move(allowed)).socket_path(uri.host), group};
    }
    return Error(Errc::unreachable, "the address has no shm endpoint");
}

}  // namespace

Result<std::unique_ptr<na::SessionPeer>> ShmPort::make_peer(const na::Addr& addr) {
    CINNABAR_TRY(DialTarget target, dial_target(addr.body(), transport_));
    return std::unique_ptr<na::SessionPeer>(std::make_unique<ShmPeer>(*this, addr, transport_, std::move(target)));
}

OwnFds ShmPort::own_fds(int ring, const Credentials& peer, const OwnFlag& flag) const noexcept {
    const bool shares_board = transport_.copies_across() && is_own_user(peer);
    return {ring, bell_.fd(), shares_board ? transport_.board().fd() : -1, flag.fd()};
}

// Only peers of this user get a flag, because whoever can write to the flags can lower those of other sessions
// (decision 0120). A context that does not listen has few sessions, and needs no flags.
OwnFlag ShmPort::flag_for(const Credentials& peer) noexcept {
    if (transport_.listener() < 0 || !is_own_user(peer)) return {};
    return OwnFlag(hot_sessions_.flags());
}

Terms ShmPort::terms(const Credentials& peer, const OwnFlag& flag) const noexcept {
    Terms terms = transport_.terms(peer);
    terms.flag = flag.term();
    return terms;
}

void ShmPort::reject(const Incoming& incoming, Errc why) noexcept {
    (void)send_greeting(incoming.fd.get(), reject_hello(incoming.greeting.hello, why), {}, nullptr);
}

void ShmPort::accept(Incoming incoming) noexcept {
    const na::Hello& theirs = incoming.greeting.hello;
    if (theirs.kind != na::HelloKind::dial || na::hung_up(incoming.fd.get())) return;
    if (const Errc refused = refusal(theirs); refused != Errc::ok) return reject(incoming, refused);
    const na::Identity identity = na::sender_of(theirs);
    Channel channel;
    UniqueFd ring;
    Errc why = make_incoming_ring(transport_, channel.incoming_ring, ring);
    if (why == Errc::ok) why = open_channel(transport_, incoming, channel);
    if (why != Errc::ok) return reject(incoming, why);
    const Credentials& sender = incoming.credentials;
    // The kernel proves which process the peer is. The incarnation, which names one of the transports of that process,
    // is only the peer's claim.
    const bool own = sender.pid == ::getpid() && identity.incarnation == transport_.incarnation();
    ShmPeer* const peer = add_incoming([&] {
        const std::string from =
            "shm of process " + std::to_string(sender.pid) + ", user " + std::to_string(sender.uid);
        std::optional<na::HostProcess> process;
        if (sender.uid != anybody) process = {sender.pid, sender.uid, sender.gid};
        const na::Addr addr = na::Addr::of_connection("shm", host().context_id(), identity.context,
                                                      identity.incarnation, own, from, process);
        return std::make_unique<ShmPeer>(*this, addr, transport_, DialTarget());
    });
    if (!peer) return reject(incoming, Errc::overloaded);
    channel.own_flag = flag_for(sender);
    const OwnFds fds = own_fds(ring.get(), sender, channel.own_flag);
    const int socket = incoming.fd.get();
    if (!send_greeting(socket, hello(na::HelloKind::accept, identity), terms(sender, channel.own_flag), &fds)) {
        return end_session(*peer, Errc::peer_lost);
    }
    channel.socket = std::move(incoming.fd);
    begin_session(*peer, std::move(channel));
}

void ShmPort::begin_session(ShmPeer& peer, Channel channel) noexcept {
    const na::Hello theirs = channel.hello;
    const bool copies = channel.copies;
    const bool of_own_user = is_own_user(channel.credentials);
    Session* session = sessions_.acquire();
    const std::uint32_t flag = channel.own_flag.term();
    const bool has_room = with_memory([&] { hot_sessions_.reserve(sessions_.taken(), flag); });
    if (!session || !has_room || !session->start(*this, peer, std::move(channel))) {
        if (session) sessions_.release(*session);
        return end_session(peer, Errc::overloaded);
    }
    transport_.count_session(copies);
    peer.session = session;
    peer.set_of_own_user(of_own_user);
    hot_sessions_.begin(*session);
    output_.retry(*session);
    opened(peer, theirs);
}

bool ShmPort::may_accept() const noexcept {
    if (!LateCloses::of_process().crowded()) return true;
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "shm",
                "all connections are rejected for now: %zu descriptors from other users wait to be closed; see which "
                "(/proc/%d/fd), and end the processes that block them",
                LateCloses::waiting_max, ::getpid());
    return false;
}

void ShmPort::begin_dial(na::SessionPeer& peer) noexcept {
    Dial* dial = dials_.acquire();
    if (!dial) return end_session(peer, Errc::overloaded);
    auto& own = static_cast<ShmPeer&>(peer);
    own.dial = dial;
    dial->start(*this, own);
}

void ShmPort::dial_done(Dial& dial, Incoming answer, Segment incoming_ring, OwnFlag flag) noexcept {
    ShmPeer& peer = dial.peer();
    drop_dial(dials_, peer.dial);
    if (const Errc why = peer.check_answer(answer.greeting.hello); why != Errc::ok) return end_session(peer, why);
    Channel channel;
    channel.incoming_ring = std::move(incoming_ring);
    channel.own_flag = std::move(flag);
    channel.socket = std::move(answer.fd);
    if (const Errc why = open_channel(transport_, answer, channel); why != Errc::ok) return end_session(peer, why);
    begin_session(peer, std::move(channel));
}

void ShmPort::dial_failed(Dial& dial, Errc why) noexcept {
    ShmPeer& peer = dial.peer();
    drop_dial(dials_, peer.dial);
    end_session(peer, why);
}

void ShmPort::end_connection(na::SessionPeer& ending, Errc why) noexcept {
    auto& peer = static_cast<ShmPeer&>(ending);
    if (Session* session = std::exchange(peer.session, nullptr)) {
        session->end(why);
        sessions_.release(*session);
    }
    peer.set_of_own_user(false);
    drop_dial(dials_, peer.dial);
}

}  // namespace cinnabar::shm
