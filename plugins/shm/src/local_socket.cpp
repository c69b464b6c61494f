// SPDX-License-Identifier: BSD-3-Clause
#include "local_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace cinnabar::shm {
namespace {

UniqueFd make_socket() noexcept {
    return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool fill_path(const std::string& path, sockaddr_un& address) noexcept {
    address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return true;
}

union FdRoom {
    std::array<char, CMSG_SPACE(sizeof(int) * GreetingFds::count_max)> bytes;
    cmsghdr aligned;
};

// Sets the permission bits that the umask removed. The owner of a group's folder may have replaced the socket with
// another file, so this opens the file without following links, checks it, and changes the opened file.
bool set_mode(const std::string& path, mode_t mode) noexcept {
    const UniqueFd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return false;
    if (!S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid()) {
        errno = EPERM;
        return false;
    }
    if ((status.st_mode & 07777) == mode) return true;
    std::array<char, 32> self{};  // chmod works on an O_PATH descriptor only by this path
    (void)std::snprintf(self.data(), self.size(), "/proc/self/fd/%d", file.get());
    return ::chmod(self.data(), mode) == 0;
}

bool peer_in_group(int fd, const Credentials& peer, gid_t group) noexcept {
    if (peer.gid == group) return true;
    std::array<gid_t, 1024> groups{};
    socklen_t bytes = sizeof groups;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) != 0) return false;
    const auto end = groups.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(gid_t));
    return std::find(groups.begin(), end, group) != end;
}

// Returns the number of descriptors received. Those beyond count_max are closed.
std::size_t take_fds(msghdr& message, uid_t sender, std::array<PeerFd, GreetingFds::count_max>& out) noexcept {
    std::size_t taken = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i, ++taken) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            PeerFd owned = PeerFd::passed(UniqueFd(fd), sender);
            if (taken < out.size()) out[taken] = std::move(owned);
        }
    }
    return taken;
}

bool brings_fds(int fd) noexcept {
    msghdr message{};
    return ::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) >= 0 && (message.msg_flags & MSG_CTRUNC) != 0;
}

}  // namespace

UniqueFd listen_at(const std::string& path, mode_t mode) noexcept {
    sockaddr_un address{};
    UniqueFd fd = make_socket();
    if (!fd || !fill_path(path, address)) return {};
    // bind() creates the file with the mode of the descriptor, less the umask's bits, so the file never has more
    // permissions than `mode`.
    const bool up = ::fchmod(fd.get(), mode) == 0 &&
                    ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                    set_mode(path, mode) && ::listen(fd.get(), 4096) == 0;
    return up ? std::move(fd) : UniqueFd();
}

Errc connect_to(const std::string& path, UniqueFd& out) noexcept {
    sockaddr_un address{};
    if (!fill_path(path, address)) return Errc::bad_address;
    if (!out) out = make_socket();
    if (!out) return Errc::overloaded;
    if (::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return Errc::ok;
    switch (errno) {
        case EAGAIN:
            return Errc::again;
        case ECONNREFUSED:
        case ENOENT:
        case ENOTDIR:
            return Errc::refused;
        case EACCES:
        case EPERM:
            return Errc::permission;
        default:
            return Errc::unreachable;
    }
}

Credentials credentials_of(int fd) noexcept {
    ucred found{};
    socklen_t bytes = sizeof found;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &bytes) != 0) return {0, anybody, 0};
    return {found.pid, found.uid, found.gid};
}

bool is_own_user(const Credentials& peer) noexcept { return peer.uid == ::geteuid(); }

bool may_be_peer(int fd, const Credentials& peer, std::optional<gid_t> group) noexcept {
    return is_own_user(peer) || peer.uid == 0 || (group && peer_in_group(fd, peer, *group));
}

bool send_greeting(int fd, const na::Hello& hello, const Terms& terms, const OwnFds* fds) noexcept {
    std::array<std::byte, greeting_bytes_max> bytes{};
    iovec piece{bytes.data(), encode_greeting(hello, terms, bytes)};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    FdRoom room{};
    if (fds) {
        message.msg_control = room.bytes.data();
        message.msg_controllen = room.bytes.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        std::array<int, GreetingFds::count_max> numbers{};
        std::size_t count = 0;
        for (const int number : {fds->ring, fds->bell, fds->board, fds->flags}) {
            if (number >= 0) numbers[count++] = number;
        }
        const std::size_t bytes_of_fds = sizeof(int) * count;
        header->cmsg_len = CMSG_LEN(bytes_of_fds);
        message.msg_controllen = CMSG_SPACE(bytes_of_fds);
        std::memcpy(CMSG_DATA(header), numbers.data(), bytes_of_fds);
    }
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == static_cast<ssize_t>(piece.iov_len);
}

// Peeks at the message first, which duplicates its descriptors, and removes the message from the socket only once all
// of them are taken. Otherwise the kernel would close each descriptor for which the receiver has no room.
Errc receive_greeting(int fd, Greeting& out) noexcept {
    std::array<std::byte, greeting_bytes_max + 1> bytes;
    iovec piece{bytes.data(), bytes.size()};
    FdRoom room{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = room.bytes.data();
    message.msg_controllen = room.bytes.size();
    const ssize_t came = ::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (came < 0) return errno == EAGAIN || errno == EINTR ? Errc::again : Errc::peer_lost;
    if (came == 0) return Errc::peer_lost;
    std::array<PeerFd, GreetingFds::count_max> taken;
    const std::size_t fds = take_fds(message, credentials_of(fd).uid, taken);
    const Errc wrong = decode_greeting(ConstBytes(bytes).first(static_cast<std::size_t>(came)), out.hello, out.terms);
    if (wrong != Errc::ok) return wrong;
    if (out.hello.kind == na::HelloKind::reject) return Errc::ok;
    const bool all = (message.msg_flags & MSG_CTRUNC) == 0;
    if (!all && fds < GreetingFds::count_max) return Errc::overloaded;
    if (!all || fds != GreetingFds::count_of(out.terms)) return Errc::protocol;
    out.fds.take(taken, out.terms);
    (void)!::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return Errc::ok;
}

void ring_socket(int fd) noexcept {
    const char bell = 1;
    (void)!::send(fd, &bell, sizeof bell, MSG_NOSIGNAL | MSG_DONTWAIT);
}

SocketEvent listen_for_bells(int fd, bool of_own_user) noexcept {
    constexpr int bells_max = 16;  // per call
    SocketEvent event = SocketEvent::nothing;
    for (int i = 0; i < bells_max; ++i) {
        char bell = 0;
        if (!of_own_user && brings_fds(fd)) return SocketEvent::descriptors;
        const ssize_t came = ::recv(fd, &bell, sizeof bell, MSG_DONTWAIT);
        if (came > 0) {
            event = SocketEvent::bell;
        } else if (came == 0 || (errno != EAGAIN && errno != EINTR)) {
            return SocketEvent::end;
        } else {
            break;
        }
    }
    return event;
}

}  // namespace cinnabar::shm
