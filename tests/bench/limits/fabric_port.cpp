// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_port.hpp"

#include "../harness/hex.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::uint32_t api_version = FI_VERSION(1, 14);
constexpr double greeting_seconds_max = 10;
constexpr std::size_t name_bytes_max = 256;
constexpr std::uint64_t greeting_tag = 1;
using Name = std::array<std::byte, name_bytes_max>;

[[noreturn]] void fail(const char* what, long error) {
    throw std::runtime_error{std::string{what} + ": " + fi_strerror(static_cast<int>(error < 0 ? -error : error))};
}

void check(const char* what, int failed) {
    if (failed != 0) fail(what, failed);
}

bool taken(const char* what, ssize_t outcome) {
    if (outcome != 0 && outcome != -FI_EAGAIN) fail(what, outcome);
    return outcome == 0;
}

std::unique_ptr<fi_info, FreeInfo> find(Fabric fabric) {
    // The same settings as in the plugin (plugins/ofi/src/provider_table.cpp).
    (void)setenv("FI_OFI_RXM_EAGER_LIMIT", "2097152", 0);
    (void)setenv("FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100", 0);
    const std::unique_ptr<fi_info, FreeInfo> hints{fi_allocinfo()};
    if (!hints) throw std::bad_alloc{};
    const bool ip = fabric == Fabric::tcp_rxm;
    hints->caps = FI_TAGGED | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = strdup(ip ? "tcp;ofi_rxm" : "shm");
    fi_info* found = nullptr;
    check("fi_getinfo", fi_getinfo(api_version, ip ? "127.0.0.1" : nullptr, nullptr,
                                   ip ? FI_SOURCE | FI_NUMERICHOST : 0, hints.get(), &found));
    return std::unique_ptr<fi_info, FreeInfo>{found};
}

}  // namespace

void SpinLimit::look() {
    if (++looks_ % 1024 == 0 && seconds_now() > end_) throw std::runtime_error{what_};
}

FabricPort::FabricPort(Fabric fabric) : info_(find(fabric)) {
    fid_fabric* opened = nullptr;
    check("fi_fabric", fi_fabric(info_->fabric_attr, &opened, nullptr));
    fabric_.reset(opened);
    fid_domain* domain = nullptr;
    check("fi_domain", fi_domain(opened, info_.get(), &domain, nullptr));
    domain_.reset(domain);
    fi_av_attr of_addresses{};
    of_addresses.type = FI_AV_TABLE;
    fid_av* addresses = nullptr;
    check("fi_av_open", fi_av_open(domain, &of_addresses, &addresses, nullptr));
    addresses_.reset(addresses);
    fi_cq_attr of_queue{};
    of_queue.format = FI_CQ_FORMAT_CONTEXT;
    of_queue.wait_obj = FI_WAIT_NONE;
    of_queue.size = info_->tx_attr->size + info_->rx_attr->size;
    fid_cq* queue = nullptr;
    check("fi_cq_open", fi_cq_open(domain, &of_queue, &queue, nullptr));
    queue_.reset(queue);
    fid_ep* endpoint = nullptr;
    check("fi_endpoint", fi_endpoint(domain, info_.get(), &endpoint, nullptr));
    endpoint_.reset(endpoint);
    check("fi_ep_bind", fi_ep_bind(endpoint, &addresses->fid, 0));
    check("fi_ep_bind", fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV));
    check("fi_enable", fi_enable(endpoint));
}

std::string FabricPort::address() const {
    Name name{};
    std::size_t bytes = name.size();
    check("fi_getname", fi_getname(&endpoint_->fid, name.data(), &bytes));
    return to_hex(name);
}

void FabricPort::insert(const void* address) {
    if (fi_av_insert(addresses_.get(), address, 1, &peer_, 0, nullptr) != 1) {
        throw std::runtime_error{"fi_av_insert takes no such address"};
    }
}

void FabricPort::meet_server(const std::string& address) {
    SpinLimit limit{greeting_seconds_max, "the server end of libfabric does not answer"};
    insert(from_hex(address).data());
    const auto name = from_hex(this->address());
    std::array<std::byte, 1> answer{};
    for (; !receive(answer, greeting_tag, this); limit.look()) {
        poll([](void*) {});
    }
    bool sent = false;
    for (int ended = 0; ended < 2; limit.look()) {
        sent = sent || send(name, greeting_tag, this);
        poll([&](void*) { ++ended; });
    }
}

void FabricPort::meet_client() {
    SpinLimit limit{greeting_seconds_max, "the client end of libfabric does not come"};
    Name name{};
    for (; !receive(name, greeting_tag, this); limit.look()) {
        poll([](void*) {});
    }
    int ended = 0;
    const auto one_more = [&](void*) { ++ended; };
    for (; ended < 1; limit.look()) poll(one_more);
    insert(name.data());
    const std::array<std::byte, 1> answer{};
    for (bool sent = false; ended < 2; limit.look()) {
        sent = sent || send(answer, greeting_tag, this);
        poll(one_more);
    }
}

bool FabricPort::send(std::span<const std::byte> message, std::uint64_t tag, void* context) {
    return taken("fi_tsend", fi_tsend(endpoint_.get(), message.data(), message.size(), nullptr, peer_, tag, context));
}

bool FabricPort::receive(std::span<std::byte> room, std::uint64_t tag, void* context) {
    return taken("fi_trecv",
                 fi_trecv(endpoint_.get(), room.data(), room.size(), nullptr, FI_ADDR_UNSPEC, tag, 0, context));
}

bool FabricPort::read(std::span<std::byte> to, std::uint64_t address, std::uint64_t key, void* context) {
    return taken("fi_read", fi_read(endpoint_.get(), to.data(), to.size(), descriptor_, peer_, address, key, context));
}

std::string FabricPort::lend(std::span<const std::byte> memory) {
    fid_mr* lent = nullptr;
    check("fi_mr_reg", fi_mr_reg(domain_.get(), memory.data(), memory.size(), FI_REMOTE_READ, 0, 1, 0, &lent, nullptr));
    memory_.reset(lent);
    const bool virtual_addresses = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    std::ostringstream words;
    words << (virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0) << ' ' << fi_mr_key(lent);
    return words.str();
}

void FabricPort::prepare(std::span<std::byte> memory) {
    if ((info_->domain_attr->mr_mode & FI_MR_LOCAL) == 0) return;
    fid_mr* own = nullptr;
    check("fi_mr_reg", fi_mr_reg(domain_.get(), memory.data(), memory.size(), FI_READ, 0, 2, 0, &own, nullptr));
    memory_.reset(own);
    descriptor_ = fi_mr_desc(own);
}

void FabricPort::fail_by_queue(ssize_t count) {
    fi_cq_err_entry failure{};
    if (count != -FI_EAVAIL || fi_cq_readerr(queue_.get(), &failure, 0) != 1) fail("fi_cq_read", count);
    fail("an operation of libfabric failed", failure.err);
}

}  // namespace cinnabar::bench
