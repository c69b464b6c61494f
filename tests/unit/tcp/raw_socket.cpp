// SPDX-License-Identifier: BSD-3-Clause
#include "raw_socket.hpp"

#include "support/patterns.hpp"

#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cinnabar::tcp {
namespace {

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

std::uint16_t port_of(int fd) {
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    return ntohs(address.sin_port);
}

}  // namespace

RawSocket::RawSocket(const std::string& endpoint) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(na::Uri::parse(endpoint).value().port.value());
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const int one = 1;
    EXPECT_EQ(::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
}

void RawSocket::write(ConstBytes bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
}

void RawSocket::write_if_open(ConstBytes bytes) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    closed_ = closed_ || sent != static_cast<ssize_t>(bytes.size());
}

void RawSocket::write(const Frame& frame, const FrameBody& body, ConstBytes data) {
    std::vector<std::byte> bytes(frame_header_bytes + frame_body_bytes_max + data.size());
    const std::size_t head = encode_frame(frame, body, bytes);
    std::copy(data.begin(), data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(head));
    write(ConstBytes(bytes).first(head + data.size()));
}

void RawSocket::write_message(na::Tag tag, std::size_t bytes, FrameKind kind) {
    std::vector<std::byte> payload(padded(bytes));
    support::fill_pattern(Bytes(payload).first(bytes), tag);
    write(Frame{kind, 0, Errc::ok, static_cast<std::uint32_t>(bytes), tag}, {}, payload);
}

bool RawSocket::closed() {
    std::array<std::byte, 4096> buffer;
    for (;;) {
        const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (count > 0) {
            received_.insert(received_.end(), buffer.begin(), buffer.begin() + count);
            continue;
        }
        if (count == 0 || (errno != EAGAIN && errno != EINTR)) closed_ = true;
        return closed_;
    }
}

std::optional<std::vector<std::byte>> RawSocket::take(std::size_t count) {
    (void)closed();
    if (received_.size() < count) return std::nullopt;
    const auto end = received_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<std::byte> taken(received_.begin(), end);
    received_.erase(received_.begin(), end);
    return taken;
}

std::optional<Greeting> RawSocket::take_greeting() {
    const auto bytes = take(Greeting::wire_bytes);
    if (!bytes) return std::nullopt;
    Greeting greeting;
    EXPECT_EQ(Greeting::decode(*bytes, greeting), Errc::ok);
    return greeting;
}

void RawSocket::reset() {
    const linger now{1, 0};
    EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
}

RawListener::RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const sockaddr_in address = loopback(0);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd_.get(), 16), 0);
}

std::string RawListener::endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_of(fd_.get())); }

std::optional<RawSocket> RawListener::accept() {
    UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return std::nullopt;
    return RawSocket(std::move(fd));
}

std::string nobody() { return RawListener().endpoint(); }

Greeting dial_greeting(na::Incarnation incarnation, na::ContextId context) {
    Greeting greeting;
    greeting.hello.kind = na::HelloKind::dial;
    greeting.hello.incarnation = incarnation;
    greeting.hello.context = context;
    greeting.hello.message_bytes_max = 16 * 1024;
    greeting.hello.credits = 2;
    return greeting;
}

}  // namespace cinnabar::tcp
