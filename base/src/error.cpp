// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/error.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace cinnabar {

static_assert(sizeof(Error) <= 64, "every Result has room for one");

ErrorDetail::~ErrorDetail() = default;

void SharedDetail::release() noexcept {
    if (detail_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete detail_;
}

namespace {

struct Row {
    std::string_view name;
    BlastRadius blast;
    std::string_view advice;
};

constexpr Row unknown{"unknown", BlastRadius::operation, "the peer is newer than this program"};

constexpr std::array<Row, errc_count> rows{{
    {"ok", BlastRadius::nothing, "nothing went wrong"},
    {"again", BlastRadius::nothing, "make progress, then call again"},
    {"canceled", BlastRadius::nothing, "the caller canceled it"},
    {"timed out", BlastRadius::operation, "allow more time, or check whether the peer is stopped or overloaded"},
    unknown,
    {"refused", BlastRadius::peer, "nothing listens there: start the server or check the port"},
    {"unreachable", BlastRadius::peer, "check the host, the route and that the peer listens"},
    {"peer lost", BlastRadius::peer, "the peer died or the connection broke; call again to reconnect"},
    unknown,
    {"overloaded", BlastRadius::operation, "the target cannot take more: back off and call again"},
    {"no such rpc", BlastRadius::operation, "the target serves no handler of that name and provider"},
    {"bad signature", BlastRadius::operation, "both sides must declare the call with the same argument types"},
    {"protocol", BlastRadius::peer, "the peer speaks another protocol, or another version of this one"},
    {"too large", BlastRadius::operation, "send less at once, or raise the limit"},
    {"permission", BlastRadius::operation, "the key is wrong, or the memory or the file may not be used like that"},
    {"out of memory", BlastRadius::operation, "free memory, or lower the limits"},
    {"invalid argument", BlastRadius::operation, "this is a mistake in the calling program"},
    {"unsupported", BlastRadius::operation, "the transport lacks this capability: ask for it before use"},
    {"busy", BlastRadius::nothing, "it is still in use: release it first"},
    {"not found", BlastRadius::operation, "check the name"},
    {"exists", BlastRadius::operation, "it is there already: choose another name or ask to replace it"},
    {"closed", BlastRadius::context, "it was closed or is draining; open it again"},
    {"bad checksum", BlastRadius::operation, "the bytes changed on the way or at their source; send them again"},
    {"io", BlastRadius::operation, "the operating system refused; see its own message"},
    {"no space", BlastRadius::operation, "the disk or the quota is full: free space first"},
    {"would deadlock", BlastRadius::nothing,
     "do not block on a thread that must make progress: use co_await or another thread"},
    {"application error", BlastRadius::operation, "the handler answered with an error of its own"},
    {"handler failed", BlastRadius::operation, "the handler threw; see the server's log"},
    {"bad address", BlastRadius::nothing, "write it as tcp://host:port or shm://name, and check the host name"},
    {"address in use", BlastRadius::nothing, "another process listens there: choose another port"},
    {"shutting down", BlastRadius::peer, "the target takes no new calls: use another one, or call again later"},
    {"stale", BlastRadius::operation,
     "the memory was used again, is not shared any more, or is a file that has become shorter: ask its owner anew"},
}};

const Row& row_of(Errc code) noexcept {
    const auto index = static_cast<std::size_t>(code);
    return index < rows.size() ? rows[index] : unknown;
}

}  // namespace

std::string_view to_string(Errc code) noexcept { return row_of(code).name; }
std::string_view advice(Errc code) noexcept { return row_of(code).advice; }

BlastRadius blast_of(Errc code) noexcept { return row_of(code).blast; }

Errc errc_from_errno(int os_errno) noexcept {
    switch (os_errno) {
        case 0:
            return Errc::ok;
        case EAGAIN:
            return Errc::again;
        case ECONNREFUSED:
            return Errc::refused;
        case EHOSTUNREACH:
        case ENETUNREACH:
        case EHOSTDOWN:
        case ENETDOWN:
        case EADDRNOTAVAIL:
            return Errc::unreachable;
        case ECONNRESET:
        case EPIPE:
        case ECONNABORTED:
        case ENOTCONN:
        case ETIMEDOUT:
            return Errc::peer_lost;
        case EMFILE:
        case ENFILE:
            return Errc::overloaded;
        case ENOMEM:
        case ENOBUFS:
            return Errc::out_of_memory;
        case EINVAL:
        case EFAULT:
        case EBADF:
            return Errc::invalid_argument;
        case EPERM:
        case EACCES:
        case EROFS:
            return Errc::permission;
        case ENOENT:
        case ENOTDIR:
            return Errc::not_found;
        case EEXIST:
            return Errc::exists;
        case ENOSPC:
        case EDQUOT:
            return Errc::no_space;
        case EFBIG:
        case ENAMETOOLONG:
        case EMSGSIZE:
            return Errc::too_large;
        case EADDRINUSE:
            return Errc::address_in_use;
        case EBUSY:
            return Errc::busy;
        case EOPNOTSUPP:
        case ENOSYS:
        case EAFNOSUPPORT:
            return Errc::unsupported;
        case ECANCELED:
            return Errc::canceled;
        default:
            return Errc::io;
    }
}

namespace {

std::string text_of(const Error& error) {
    std::string text(to_string(error.code));
    if (error.code == Errc::application) text.append(" ").append(std::to_string(error.app_code));
    if (!error.hint.empty()) text.append(": ").append(error.hint);
    if (!error.subject.empty()) text.append(" (").append(error.subject).append(")");
    if (error.os_errno != 0) {
        std::array<char, 128> buffer{};
        text.append(": ").append(::strerror_r(error.os_errno, buffer.data(), buffer.size()));
    }
    return text;
}

}  // namespace

// Must not throw: it is called where an exception has just been caught, possibly bad_alloc.
std::string Error::message() const noexcept {
    try {
        return text_of(*this);
    } catch (const std::bad_alloc&) {
        return "out of memory";  // so short that it is not allocated
    }
}

}  // namespace cinnabar
