// SPDX-License-Identifier: BSD-3-Clause
#include "name_server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace cinnabar::test {
namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::size_t datagram_max = 512;

sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

// The question section: one name, its type and its class.
std::string question_in(const DnsMessage& message) {
    std::size_t end = header_bytes;
    while (end < message.size() && message[end] != '\0') end += static_cast<unsigned char>(message[end]) + 1u;
    return message.substr(header_bytes, end + 5 - header_bytes);
}

// Reads exactly that many bytes; fewer at the end of the stream.
std::string read_from(int fd, std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    for (ssize_t now = 1; now > 0 && got < bytes; got += static_cast<std::size_t>(std::max<ssize_t>(now, 0)))
        now = ::read(fd, text.data() + got, bytes - got);
    text.resize(got);
    return text;
}

}  // namespace

void put_u16(DnsMessage& message, unsigned value) {
    message += static_cast<char>(value >> 8 & 0xff);
    message += static_cast<char>(value & 0xff);
}

void put_name(DnsMessage& message, const std::string& name) {
    for (std::size_t begin = 0; begin < name.size();) {
        const std::size_t end = std::min(name.find('.', begin), name.size());
        message += static_cast<char>(end - begin);
        message += name.substr(begin, end - begin);
        begin = end + 1;
    }
    message += '\0';
}

void put_record(DnsMessage& message, unsigned type, const DnsMessage& data) {
    put_u16(message, 0xc000 | header_bytes);
    put_u16(message, type);
    put_u16(message, 1);
    put_u16(message, 0);
    put_u16(message, 60);
    put_u16(message, static_cast<unsigned>(data.size()));
    message += data;
}

DnsMessage answer_to(const DnsMessage& question, const std::vector<group::ServiceRecord>& records, unsigned code) {
    DnsMessage message = question.substr(0, 2);
    put_u16(message, 0x8180 | code);
    put_u16(message, 1);
    put_u16(message, static_cast<unsigned>(records.size()));
    put_u16(message, 0);
    put_u16(message, 0);
    message += question_in(question);
    for (const group::ServiceRecord& record : records) {
        DnsMessage data;
        put_u16(data, record.priority);
        put_u16(data, record.weight);
        put_u16(data, record.port);
        put_name(data, record.host);
        put_record(message, 33, data);
    }
    return message;
}

DnsMessage question_for(const std::string& name) {
    DnsMessage message;
    for (const unsigned word : {7u, 0x100u, 1u, 0u, 0u, 0u}) put_u16(message, word);
    put_name(message, name);
    put_u16(message, 33);
    put_u16(message, 1);
    return message;
}

NameServer::NameServer(Answer answer)
    : answer_(std::move(answer)),
      udp_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
      tcp_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // The same port for both; another program may have it for one of them.
    for (int tries = 0; tries < 100; ++tries) {
        address_ = {};
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address_;
        EXPECT_EQ(::bind(tcp_.get(), generic(address_), bytes), 0);
        EXPECT_EQ(::getsockname(tcp_.get(), generic(address_), &bytes), 0);
        if (::bind(udp_.get(), generic(address_), bytes) == 0) break;
        tcp_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    }
    EXPECT_EQ(::listen(tcp_.get(), 8), 0);
    thread_ = std::thread([this] { serve(); });
}

NameServer::~NameServer() {
    ends_ = true;
    (void)::shutdown(tcp_.get(), SHUT_RDWR);  // wakes the thread
    thread_.join();
}

void NameServer::serve() {
    while (!ends_) {
        std::array<pollfd, 2> ready{pollfd{udp_.get(), POLLIN, 0}, pollfd{tcp_.get(), POLLIN, 0}};
        (void)::poll(ready.data(), ready.size(), -1);
        if (ends_) return;
        if (ready[0].revents != 0) answer_datagram();
        if (ready[1].revents != 0) answer_stream();
    }
}

void NameServer::answer_datagram() {
    std::array<char, 4096> bytes{};
    sockaddr_in from{};
    socklen_t from_bytes = sizeof from;
    const ssize_t got = ::recvfrom(udp_.get(), bytes.data(), bytes.size(), 0, generic(from), &from_bytes);
    if (got <= 0) return;
    DnsMessage message = answer_(DnsMessage(bytes.data(), static_cast<std::size_t>(got)));
    if (message.size() > datagram_max) {
        message[2] = static_cast<char>(message[2] | 2);  // truncated: ask again by TCP
        message.resize(header_bytes);
        message.replace(4, 8, 8, '\0');
        message.replace(4, 2, std::string("\0\1", 2));
        message += question_in(DnsMessage(bytes.data(), static_cast<std::size_t>(got)));
    }
    (void)::sendto(udp_.get(), message.data(), message.size(), 0, generic(from), from_bytes);
}

void NameServer::answer_stream() {
    const UniqueFd peer(::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string length = read_from(peer.get(), 2);
    if (length.size() != 2) return;
    const std::size_t bytes =
        static_cast<std::size_t>(static_cast<unsigned char>(length[0])) << 8 | static_cast<unsigned char>(length[1]);
    const DnsMessage answer = answer_(read_from(peer.get(), bytes));
    DnsMessage framed;
    put_u16(framed, static_cast<unsigned>(answer.size()));
    framed += answer;
    (void)::send(peer.get(), framed.data(), framed.size(), MSG_NOSIGNAL);
}

}  // namespace cinnabar::test
