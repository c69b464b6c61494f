// SPDX-License-Identifier: BSD-3-Clause
#include "raw_peer.hpp"

#include "greeting.hpp"
#include "message_header.hpp"

#include <cinnabar/na/session/socket_address.hpp>

#include <gtest/gtest.h>
#include <rdma/rdma_verbs.h>

#include <span>

namespace cinnabar::verbs {
namespace {

sockaddr* plain(const na::SocketAddress& address) { return const_cast<sockaddr*>(address.get()); }

Greeting greeting() {
    Greeting greeting;
    greeting.hello.kind = na::HelloKind::dial;
    greeting.hello.incarnation = 77;
    greeting.hello.message_bytes_max = 4096;
    greeting.window = 10'000;
    return greeting;
}

}  // namespace

RawPeer::RawPeer(const std::string& from, const std::string& to, std::uint32_t sends_max) {
    const auto source = na::resolve(na::Uri::parse(from).value(), na::Purpose::listen).value().front();
    const auto target = na::resolve(na::Uri::parse(to).value(), na::Purpose::dial).value().front();
    EXPECT_EQ(::rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP), 0);
    EXPECT_EQ(::rdma_resolve_addr(id_, plain(source), plain(target), 2000), 0);
    EXPECT_EQ(::rdma_resolve_route(id_, 2000), 0);
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {sends_max, 1, 1, 1, 0};
    EXPECT_EQ(::rdma_create_qp(id_, nullptr, &wanted), 0);
    registered_ = ::rdma_reg_msgs(id_, bytes_.data(), bytes_.size());
    EXPECT_NE(registered_, nullptr);
    // Returns once the library has answered; the test drives it meanwhile.
    dial_ = std::thread([this] {
        const auto hello = greeting().encode();
        rdma_conn_param parameters{};
        parameters.private_data = hello.data();
        parameters.private_data_len = static_cast<std::uint8_t>(hello.size());
        parameters.responder_resources = parameters.initiator_depth = 1;
        parameters.retry_count = 7;
        parameters.rnr_retry_count = 7;
        EXPECT_EQ(::rdma_connect(id_, &parameters), 0);
        connected = true;
    });
}

RawPeer::~RawPeer() {
    dial_.join();
    (void)::rdma_disconnect(id_);
    ::rdma_destroy_qp(id_);
    (void)::rdma_dereg_mr(registered_);
    (void)::rdma_destroy_id(id_);
}

void RawPeer::burst(unsigned count) {
    MessageHeader{.tag = 1}.encode(std::span(bytes_).first<message_header_bytes>());
    for (unsigned i = 0; i < count; ++i) {
        ASSERT_EQ(::rdma_post_send(id_, nullptr, bytes_.data(), bytes_.size(), registered_, 0), 0) << i;
    }
}

void RawPeer::read(std::uint64_t address, std::uint32_t rkey) {
    ASSERT_EQ(::rdma_post_read(id_, nullptr, bytes_.data(), 8, registered_, IBV_SEND_SIGNALED, address, rkey), 0);
}

bool RawPeer::poll(ibv_wc& done) { return ::ibv_poll_cq(id_->send_cq, 1, &done) == 1; }

}  // namespace cinnabar::verbs
