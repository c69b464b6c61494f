// SPDX-License-Identifier: BSD-3-Clause
#include "channel.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <memory>
#include <new>

namespace cinnabar::shm {
namespace {

// Whether this process may read the peer's memory: tries to read the word of that memory that the greeting names.
// ptrace scopes, namespaces or security modules may forbid that; only an attempt shows whether they do.
bool may_copy(const Credentials& sender, const Terms& terms) noexcept {
    if (sender.pid == 0 || terms.probe_value == 0) return false;
    std::uint64_t found = 0;
    const iovec here{&found, sizeof found};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(terms.probe_address)), sizeof found};
    return ::process_vm_readv(sender.pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof found) &&
           found == terms.probe_value;
}

}  // namespace

Errc open_channel(const ShmTransport& transport, Incoming& from, Channel& out) noexcept {
    const Terms& terms = from.greeting.terms;
    GreetingFds& fds = from.greeting.fds;
    try {
        out.outgoing_ring = std::make_shared<OutgoingRing>();
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    Errc why = Segment::attach(fds.ring.get(), ring_header_bytes + terms.ring_bytes, out.outgoing_ring->memory);
    if (why != Errc::ok) return why;
    const int flags = ::fcntl(fds.bell.get(), F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) == 0) return Errc::protocol;
    const bool own_user = is_own_user(from.credentials);
    if (own_user) out.bell = std::move(fds.bell);
    if (own_user && terms.flag != 0) {
        why = out.peer_flag.attach(fds.flags.get(), terms.flag);
        if (why != Errc::ok) return why;
    }
    // A successful probe proves that the process with this id is the peer. is_there(), called after the probe, proves
    // that the process of the pidfd still lives. That process is therefore the one that was probed.
    out.copies = transport.copies_across() && own_user && terms.lease_slots > 0 &&
                 out.process.open(from.credentials.pid) && may_copy(from.credentials, terms) &&
                 out.process.is_there(-1);
    if (out.copies) {
        why = out.board.attach(fds.board.get(), terms.lease_slots);
        if (why != Errc::ok) return why;
    } else {
        out.process = {};
    }
    out.hello = from.greeting.hello;
    out.outgoing_ring_bytes = terms.ring_bytes;
    out.outgoing_record_bytes_max = terms.record_bytes_max;
    out.board_slots = terms.lease_slots;
    out.credentials = from.credentials;
    return Errc::ok;
}

Errc make_incoming_ring(const ShmTransport& transport, Segment& out, UniqueFd& fd) noexcept {
    return Segment::make("cinnabar-ring", ring_header_bytes + transport.ring_bytes(), out, fd);
}

}  // namespace cinnabar::shm
