// SPDX-License-Identifier: BSD-3-Clause
#include "namespace_cable.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace cinnabar::test {
namespace {

const char* name_of(Cable::End end) { return end == Cable::End::near ? "near" : "far"; }

UniqueFd this_namespace() { return UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)); }

bool enter(const UniqueFd& place) { return ::setns(place.get(), CLONE_NEWNET) == 0; }

ifreq request_for(Cable::End end) {
    ifreq request{};
    std::strcpy(request.ifr_name, name_of(end));
    return request;
}

// A netlink message that creates a link: a header and nested attributes.
class NewLink {
  public:
    NewLink() {
        header().nlmsg_type = RTM_NEWLINK;
        header().nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        (void)append(sizeof(nlmsghdr));
        (void)append(sizeof(ifinfomsg));
    }
    void text(unsigned short type, std::string_view value) {
        const std::size_t at = open(type);
        std::memcpy(append(value.size() + 1), value.data(), value.size());
        close(at);
    }
    void number(unsigned short type, int value) {
        const std::size_t at = open(type);
        std::memcpy(append(sizeof value), &value, sizeof value);
        close(at);
    }
    // Attributes added between open and close are nested.
    [[nodiscard]] std::size_t open(unsigned short type) {
        const std::size_t at = bytes_;
        const rtattr attribute{0, type};
        std::memcpy(append(sizeof attribute), &attribute, sizeof attribute);
        return at;
    }
    void close(std::size_t at) {
        const auto size = static_cast<unsigned short>(bytes_ - at);
        std::memcpy(&buffer_.at(at), &size, sizeof size);
        bytes_ = NLMSG_ALIGN(bytes_);
    }
    [[nodiscard]] char* append(std::size_t size) {
        char* const place = &buffer_.at(bytes_);
        bytes_ += size;
        return place;
    }
    // False on failure, with errno.
    [[nodiscard]] bool send() {
        const UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
        header().nlmsg_len = static_cast<unsigned>(bytes_);
        if (::send(fd.get(), buffer_.data(), bytes_, 0) < 0) return false;
        struct {
            nlmsghdr header;
            nlmsgerr outcome;
            std::array<char, 512> rest;
        } answer{};
        if (::recv(fd.get(), &answer, sizeof answer, 0) < 0) return false;
        errno = -answer.outcome.error;
        return answer.outcome.error == 0;
    }

  private:
    [[nodiscard]] nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(buffer_.data()); }
    alignas(nlmsghdr) std::array<char, 512> buffer_{};
    std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Cable> NamespaceCable::lay() {
    std::unique_ptr<NamespaceCable> cable(new NamespaceCable);
    cable->home_ = this_namespace();
    if (!cable->home_ || !cable->lay_it()) return nullptr;
    return cable;
}

NamespaceCable::~NamespaceCable() {
    const bool left = static_cast<bool>(far_);
    EXPECT_TRUE(!left || enter(home_));
}

bool NamespaceCable::lay_it() {
    for (UniqueFd* place : {&far_, &near_}) {
        if (::unshare(CLONE_NEWNET) != 0) return false;
        *place = this_namespace();
        (place == &far_ ? far_socket_ : near_socket_).reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
    if (!make_pair()) return false;
    for (const End end : {End::near, End::far}) {
        if (!set_address(end)) return false;
        plug_in(end);
    }
    return true;
}

bool NamespaceCable::make_pair() {
    NewLink link;
    link.text(IFLA_IFNAME, name_of(End::near));
    const std::size_t about = link.open(IFLA_LINKINFO);
    link.text(IFLA_INFO_KIND, "veth");
    const std::size_t more = link.open(IFLA_INFO_DATA);
    const std::size_t peer = link.open(VETH_INFO_PEER);
    (void)link.append(sizeof(ifinfomsg));
    link.text(IFLA_IFNAME, name_of(End::far));
    link.number(IFLA_NET_NS_FD, far_.get());
    link.close(peer);
    link.close(more);
    link.close(about);
    return link.send();
}

bool NamespaceCable::set_address(End end) const {
    ifreq request = request_for(end);
    auto& address = reinterpret_cast<sockaddr_in&>(request.ifr_addr);
    address.sin_family = AF_INET;
    (void)::inet_pton(AF_INET, end == End::near ? near_host : far_host, &address.sin_addr);
    const int socket = (end == End::near ? near_socket_ : far_socket_).get();
    if (::ioctl(socket, SIOCSIFADDR, &request) != 0) return false;
    (void)::inet_pton(AF_INET, "255.255.255.0", &address.sin_addr);
    return ::ioctl(socket, SIOCSIFNETMASK, &request) == 0;
}

void NamespaceCable::set_up(End end, bool up) const {
    ifreq request = request_for(end);
    const int socket = (end == End::near ? near_socket_ : far_socket_).get();
    EXPECT_EQ(::ioctl(socket, SIOCGIFFLAGS, &request), 0);
    request.ifr_flags = static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    EXPECT_EQ(::ioctl(socket, SIOCSIFFLAGS, &request), 0);
}

void NamespaceCable::at_the_far_end(const std::function<void()>& f) const {
    ASSERT_TRUE(enter(far_));
    f();
    ASSERT_TRUE(enter(near_));
}

}  // namespace cinnabar::test
