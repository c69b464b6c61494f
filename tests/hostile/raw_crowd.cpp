// SPDX-License-Identifier: BSD-3-Clause
#include "raw_crowd.hpp"

#include "tcp/src/frame.hpp"

#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cinnabar::hostile {
namespace {

constexpr unsigned life_steps = 400;
constexpr std::size_t lanes_max = 16;
constexpr std::uint32_t message_bytes = 12'000;
constexpr na::Incarnation first_incarnation = 50'000;

// False: the other side has closed the connection.
bool say(const UniqueFd& socket, ConstBytes bytes) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent >= 0 || errno == EAGAIN;
}

bool is_closed(const UniqueFd& socket) {
    std::byte next{};
    const ssize_t count = ::recv(socket.get(), &next, 1, MSG_DONTWAIT | MSG_PEEK);
    return count == 0 || (count < 0 && errno != EAGAIN);
}

// Resets the connection, as if the process had crashed, so that its port is free at once.
void hang_up(UniqueFd& socket) {
    constexpr linger now{1, 0};
    if (socket) (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket.reset();
}

std::vector<std::byte> frame(tcp::FrameKind kind, std::uint32_t bytes, std::uint64_t id) {
    std::vector<std::byte> head(tcp::frame_header_bytes + tcp::frame_body_bytes_max);
    tcp::FrameBody body;
    body.left = std::max(bytes, 1u);
    head.resize(tcp::encode_frame({kind, 0, Errc::ok, bytes, id}, body, head));
    return head;
}

}  // namespace

RawCrowd::RawCrowd(unsigned members, const std::string& target, Does does)
    : port_(na::Uri::parse(target).value().port.value()), does_(does), members_(members) {}

bool RawCrowd::began() const noexcept { return std::ranges::all_of(members_, &Member::began); }

UniqueFd RawCrowd::dial() const {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    constexpr int little = 4096;  // small, because the answers are not read
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) socket.reset();
    return socket;
}

tcp::Greeting RawCrowd::greeting(na::HelloKind kind) const {
    tcp::Greeting greeting;
    greeting.hello.kind = kind;
    greeting.hello.incarnation = first_incarnation + came_;
    greeting.hello.message_bytes_max = 16 * 1024;
    greeting.hello.credits = 2;
    return greeting;
}

void RawCrowd::come(Member& member) {
    for (UniqueFd& lane : member.lanes) hang_up(lane);
    hang_up(member.session);
    member = Member{.began = member.began};
    ++came_;
    member.session = dial();
    if (!member.session) return;
    const auto hello = greeting(na::HelloKind::dial).encode();
    const std::size_t said = does_ == Does::half_greetings ? hello.size() / 2 : hello.size();
    (void)say(member.session, ConstBytes(hello).first(said));
    if (does_ == Does::half_greetings) member.began = true;
}

// Continues to wait for the answer to the greeting.
void RawCrowd::meet(Member& member) {
    std::array<std::byte, tcp::Greeting::wire_bytes> bytes;
    const std::size_t missing = bytes.size() - member.greeted.size();
    const ssize_t count = ::recv(member.session.get(), bytes.data(), missing, MSG_DONTWAIT);
    if (count > 0) member.greeted.insert(member.greeted.end(), bytes.begin(), bytes.begin() + count);
    if (member.greeted.size() < bytes.size()) return;
    tcp::Greeting answer;
    const bool whole = tcp::Greeting::decode(member.greeted, answer) == Errc::ok;
    if (whole && answer.hello.kind == na::HelloKind::accept) member.accepted = answer;
}

void RawCrowd::step() {
    Member& member = members_[next_];
    next_ = (next_ + 1) % members_.size();
    if (!member.session || ++member.steps > life_steps || is_closed(member.session)) return come(member);
    if (does_ == Does::half_greetings) return;
    if (!member.accepted) return meet(member);
    act(member);
}

void RawCrowd::act(Member& member) {
    member.began = true;
    const bool has_lane = !member.lanes.empty();
    switch (does_) {
        case Does::half_greetings:
            return;
        case Does::half_messages:
            if (member.half.empty()) member.half = frame(tcp::FrameKind::unexpected, message_bytes, 7);
            return drip(member, member.session);
        case Does::half_puts:
            if (!has_lane) return dial_lane(member, true);
            if (member.half.empty()) member.half = frame(tcp::FrameKind::put, message_bytes, 7);
            return drip(member, member.lanes.front());
        case Does::wrong_tokens:
            return dial_lane(member, false);
        case Does::repeated_tokens:
            return dial_lane(member, true);
        case Does::unread_gets:
            return has_lane ? ask(member) : dial_lane(member, true);
    }
}

// The first part at once, then one byte at a time.
void RawCrowd::drip(Member& member, const UniqueFd& into) {
    const bool is_first = member.said++ == 0;
    constexpr std::array<std::byte, 1> next{};
    (void)say(into, is_first ? ConstBytes(member.half) : ConstBytes(next));
}

void RawCrowd::dial_lane(Member& member, bool with_right_token) {
    tcp::Greeting lane = greeting(na::HelloKind::lane);
    tcp::Greeting first = *member.accepted;
    lane.hello.incarnation = first.hello.peer_incarnation;
    lane.hello.lane = 1;
    lane.hello.peer_incarnation = first.hello.incarnation;
    lane.hello.peer_context = first.hello.context;
    lane.token = first.token;
    if (!with_right_token) lane.token[member.steps % lane.token.size()] ^= std::byte{1};
    UniqueFd socket = dial();
    if (!socket) return;
    (void)say(socket, lane.encode());
    member.lanes.push_back(std::move(socket));
    if (member.lanes.size() <= lanes_max) return;
    hang_up(member.lanes.front());
    member.lanes.pop_front();
}

void RawCrowd::ask(Member& member) {
    for (unsigned i = 0; i < 64; ++i) {
        // A frame that was sent in part is followed by another one, which is malformed and ends the session.
        if (!say(member.lanes.front(), frame(tcp::FrameKind::get, 0, ++member.said))) return come(member);
    }
}

}  // namespace cinnabar::hostile
