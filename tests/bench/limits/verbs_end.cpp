// SPDX-License-Identifier: BSD-3-Clause
#include "verbs_end.hpp"

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace cinnabar::bench {
namespace {

constexpr int resolve_limit_ms = 5000;
constexpr std::uint32_t inline_wanted = 128;
constexpr std::uint8_t reads_max = 16;
constexpr std::uint8_t retries = 7;
// The kind of a send, stored in the id of its work request.
constexpr std::uint64_t message_sent = 1;
constexpr std::uint64_t bytes_moved = 2;

[[noreturn]] void fail(const char* what, int error = errno) {
    throw std::runtime_error{std::string{what} + ": " + std::strerror(error)};
}
void check(const char* what, int outcome) {
    if (outcome != 0) fail(what);
}
template <typename T>
T* made(const char* what, T* object) {
    if (object == nullptr) fail(what);
    return object;
}

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) throw std::runtime_error{host + " is no address"};
    return address;
}

VerbsId make_id() {
    rdma_cm_id* id = nullptr;
    check("rdma_create_id", rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP));  // without a channel, so it blocks
    return VerbsId(id);
}

rdma_conn_param parameters() {
    rdma_conn_param wanted{};
    wanted.responder_resources = reads_max;
    wanted.initiator_depth = reads_max;
    wanted.retry_count = retries;
    wanted.rnr_retry_count = retries;
    return wanted;
}

}  // namespace

VerbsListener::VerbsListener(const std::string& host) : id_(make_id()) {
    auto address = address_of(host, 0);
    check("rdma_bind_addr", rdma_bind_addr(id_.get(), reinterpret_cast<sockaddr*>(&address)));
    check("rdma_listen", rdma_listen(id_.get(), 1));
}

std::uint16_t VerbsListener::port() const noexcept { return ntohs(rdma_get_src_port(id_.get())); }

VerbsId VerbsListener::accept() const {
    rdma_cm_id* dialled = nullptr;
    check("rdma_get_request", rdma_get_request(id_.get(), &dialled));
    return VerbsId(dialled);
}

VerbsEnd::VerbsEnd(const VerbsListener& listener, const VerbsShape& shape) : shape_(shape), id_(listener.accept()) {
    make(shape);
    auto wanted = parameters();
    check("rdma_accept", rdma_accept(id_.get(), &wanted));
}

VerbsEnd::VerbsEnd(const std::string& host, std::uint16_t port, const VerbsShape& shape)
    : shape_(shape), id_(make_id()) {
    auto address = address_of(host, port);
    check("rdma_resolve_addr",
          rdma_resolve_addr(id_.get(), nullptr, reinterpret_cast<sockaddr*>(&address), resolve_limit_ms));
    check("rdma_resolve_route", rdma_resolve_route(id_.get(), resolve_limit_ms));
    make(shape);
    auto wanted = parameters();
    check("rdma_connect", rdma_connect(id_.get(), &wanted));
}

void VerbsEnd::make(const VerbsShape& shape) {
    domain_ = made("ibv_alloc_pd", ibv_alloc_pd(id_->verbs));
    channel_ = made("ibv_create_comp_channel", ibv_create_comp_channel(id_->verbs));
    const auto entries = static_cast<int>(2 * shape.depth);
    queue_ = made("ibv_create_cq", ibv_create_cq(id_->verbs, entries, nullptr, channel_, 0));
    ibv_qp_init_attr wanted{};
    wanted.send_cq = queue_;
    wanted.recv_cq = queue_;
    wanted.qp_type = IBV_QPT_RC;
    wanted.cap = {shape.depth, shape.depth, 1, 1, inline_wanted};
    check("rdma_create_qp", rdma_create_qp(id_.get(), domain_, &wanted));
    inline_bytes_ = wanted.cap.max_inline_data;
    slots_.resize(2 * shape.depth * shape.message_bytes);
    slots_key_ = &pin(slots_.data(), slots_.size(), IBV_ACCESS_LOCAL_WRITE);
    for (std::size_t slot = 0; slot < shape.depth; ++slot) receive_into(slot);
}

VerbsEnd::~VerbsEnd() {
    // Without rdma_disconnect(), which would wait for a partner that may not poll.
    if (id_->qp != nullptr) rdma_destroy_qp(id_.get());
    for (ibv_mr* memory : pinned_) ibv_dereg_mr(memory);
    if (queue_ != nullptr) ibv_destroy_cq(queue_);
    if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
    if (domain_ != nullptr) ibv_dealloc_pd(domain_);
}

const ibv_mr& VerbsEnd::pin(void* memory, std::size_t bytes, int access) {
    pinned_.push_back(made("ibv_reg_mr", ibv_reg_mr(domain_, memory, bytes, access)));
    return *pinned_.back();
}

void VerbsEnd::receive_into(std::size_t slot) {
    const auto bytes = static_cast<std::uint32_t>(shape_.message_bytes);
    ibv_sge where{reinterpret_cast<std::uintptr_t>(slots_.data() + slot * bytes), bytes, slots_key_->lkey};
    ibv_recv_wr request{};
    request.wr_id = slot;
    request.sg_list = &where;
    request.num_sge = 1;
    ibv_recv_wr* refused = nullptr;
    if (const int error = ibv_post_recv(id_->qp, &request, &refused)) fail("ibv_post_recv", error);
}

// One request in every half of the queue is signalled, which also frees the places of the requests before it. Requests
// that move bytes are always signalled.
void VerbsEnd::post(ibv_send_wr& request) {
    if (++posted_ % (shape_.depth / 2) == 0 || request.wr_id == bytes_moved) request.send_flags |= IBV_SEND_SIGNALED;
    request.wr_id |= std::uint64_t{posted_} << 32;
    ibv_send_wr* refused = nullptr;
    if (const int error = ibv_post_send(id_->qp, &request, &refused)) fail("ibv_post_send", error);
}

void VerbsEnd::send(std::span<const std::byte> message) {
    if (posted_ - ended_ >= shape_.depth) throw std::runtime_error{"more sends in flight than the queue has places"};
    std::byte* const from = slots_.data() + (shape_.depth + posted_ % shape_.depth) * shape_.message_bytes;
    std::memcpy(from, message.data(), message.size());
    ibv_sge what{reinterpret_cast<std::uintptr_t>(from), static_cast<std::uint32_t>(message.size()), slots_key_->lkey};
    ibv_send_wr request{};
    request.wr_id = message_sent;
    request.sg_list = &what;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    if (message.size() <= inline_bytes_) request.send_flags = IBV_SEND_INLINE;
    post(request);
}

void VerbsEnd::write_and_notify(const ibv_mr& local, const std::byte* from, std::size_t bytes, RemoteBlock to,
                                std::uint32_t value) {
    ibv_sge what{reinterpret_cast<std::uintptr_t>(from), static_cast<std::uint32_t>(bytes), local.lkey};
    ibv_send_wr request{};
    request.wr_id = bytes_moved;
    request.sg_list = &what;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htonl(value);
    request.wr.rdma = {to.address, to.key};
    post(request);
}

void VerbsEnd::read(const ibv_mr& local, std::byte* to, std::size_t bytes, RemoteBlock from) {
    ibv_sge where{reinterpret_cast<std::uintptr_t>(to), static_cast<std::uint32_t>(bytes), local.lkey};
    ibv_send_wr request{};
    request.wr_id = bytes_moved;
    request.sg_list = &where;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_READ;
    request.wr.rdma = {from.address, from.key};
    post(request);
}

bool VerbsEnd::poll(ibv_wc& done) {
    const int count = ibv_poll_cq(queue_, 1, &done);
    if (count < 0) fail("ibv_poll_cq");
    if (count == 1 && done.status != IBV_WC_SUCCESS) {
        throw std::runtime_error{std::string{"a work request ended with: "} + ibv_wc_status_str(done.status)};
    }
    return count == 1;
}

void VerbsEnd::wait_for_event() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    check("ibv_get_cq_event", ibv_get_cq_event(channel_, &queue, &context));
    ibv_ack_cq_events(queue, 1);
}

VerbsEnd::Event VerbsEnd::next(Wait wait) {
    if (slot_in_use_ != no_slot) receive_into(std::exchange(slot_in_use_, no_slot));
    ibv_wc done{};
    for (;;) {
        bool any = poll(done);
        if (!any && wait == Wait::block) {
            check("ibv_req_notify_cq", ibv_req_notify_cq(queue_, 0));
            // Completions that arrived before the notification was requested raise no event.
            any = poll(done);
            if (!any) wait_for_event();
        }
        if (!any && wait == Wait::spin) return {};
        if (!any) continue;
        if ((done.opcode & IBV_WC_RECV) != 0) break;
        ended_ = static_cast<std::uint32_t>(done.wr_id >> 32);
        if ((done.wr_id & bytes_moved) != 0) return {What::moved, 0, {}};
    }
    slot_in_use_ = done.wr_id;
    if (done.opcode == IBV_WC_RECV_RDMA_WITH_IMM) return {What::notified, ntohl(done.imm_data), {}};
    const std::byte* const at = slots_.data() + done.wr_id * shape_.message_bytes;
    return {What::received, 0, {at, done.byte_len}};
}

}  // namespace cinnabar::bench
