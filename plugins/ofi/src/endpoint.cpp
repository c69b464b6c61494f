// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cinnabar::ofi {
namespace {

constexpr unsigned names_tried_max = 64;

void* descriptor(const Registration& memory) noexcept { return memory ? ::fi_mr_desc(memory.get()) : nullptr; }

FabricOp& op_of(void* context) noexcept { return *static_cast<FabricOp*>(context); }

Errc posted(ssize_t outcome) noexcept { return outcome == 0 ? Errc::ok : errc_of(static_cast<long>(outcome)); }

// Of messages, where they have one: chunks have shorter ones.
constexpr std::uint64_t message_tag = ~std::uint64_t{0};

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(fid_fabric& fabric, const Selection& selection) {
    fi_info& info = *selection.info;
    const Provider& provider = *selection.provider;
    std::unique_ptr<Endpoint> made(new Endpoint);
    Endpoint& self = *made;
    self.fabric_ = &fabric;
    fid_domain* domain = nullptr;
    if (const int failed = ::fi_domain(&fabric, &info, &domain, nullptr)) return error_of(failed, "fi_domain");
    self.domain_.reset(domain);

    fi_av_attr addresses{};
    addresses.type = FI_AV_TABLE;
    fid_av* table = nullptr;
    if (const int failed = ::fi_av_open(domain, &addresses, &table, nullptr)) return error_of(failed, "fi_av_open");
    self.addresses_.emplace(Fid<fid_av>(table));

    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_MSG;
    queue.wait_obj = selection.wait_fd ? FI_WAIT_FD : FI_WAIT_NONE;
    queue.size = info.tx_attr->size + info.rx_attr->size;
    fid_cq* completions = nullptr;
    if (const int failed = ::fi_cq_open(domain, &queue, &completions, nullptr)) return error_of(failed, "fi_cq_open");
    self.queue_.reset(completions);

    CINNABAR_TRY_VOID(self.enable(info));
    fid_ep* const endpoint = self.endpoint_.get();

    std::size_t bytes = 0;
    (void)::fi_getname(&endpoint->fid, nullptr, &bytes);
    self.address_.resize(bytes);
    if (const int failed = ::fi_getname(&endpoint->fid, self.address_.data(), &bytes)) {
        return error_of(failed, "fi_getname");
    }
    if (selection.wait_fd) {
        if (const int failed = ::fi_control(&completions->fid, FI_GETWAIT, &self.wait_fd_)) {
            return error_of(failed, "fi_control, FI_GETWAIT");
        }
    }
    self.inject_bytes_max_ = info.tx_attr->inject_size;
    self.pieces_max_ = std::min(info.tx_attr->iov_limit, info.rx_attr->iov_limit);
    self.stages_ = provider.lingers || (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    self.sends_leased_ = provider.returns_sends && !self.stages_;
    self.remote_pieces_max_ = info.tx_attr->rma_iov_limit;
    self.reads_ = selection.reads;
    self.tags_messages_ = provider.tags_messages;
    self.registrar_.emplace(*domain, *endpoint, *info.domain_attr, selection.reads);
    return made;
}

// The name that a provider has for an endpoint may be held by what a process of the same number left behind when it was
// killed (smr_create): the next endpoint has another.
Result<void> Endpoint::enable(fi_info& info) {
    for (unsigned tries = 0;; ++tries) {
        fid_ep* endpoint = nullptr;
        if (const int failed = ::fi_endpoint(domain_.get(), &info, &endpoint, nullptr)) {
            return error_of(failed, "fi_endpoint");
        }
        endpoint_.reset(endpoint);
        if (const int failed = ::fi_ep_bind(endpoint, &addresses_->table().fid, 0)) {
            return error_of(failed, "fi_ep_bind, addresses");
        }
        if (const int failed = ::fi_ep_bind(endpoint, &queue_->fid, FI_TRANSMIT | FI_RECV)) {
            return error_of(failed, "fi_ep_bind, queue");
        }
        const int failed = ::fi_enable(endpoint);
        if (failed == 0) return {};
        if (failed != -FI_EBUSY || tries == names_tried_max) return error_of(failed, "fi_enable");
    }
}

Errc Endpoint::insert(ConstBytes address, fi_addr_t& out) noexcept {
    if (address.size() != address_.size()) return Errc::protocol;
    return addresses_->insert(address, out);
}

FabricOp& Endpoint::ended(void* context) noexcept {
    FabricOp& op = op_of(context);
    if (std::exchange(op.reading, false)) --reading_;
    return op;
}

bool Endpoint::hand_out_failure() noexcept {
    fi_cq_err_entry failure{};
    if (::fi_cq_readerr(queue_.get(), &failure, 0) != 1) return false;
    const Errc why = errc_of(failure.err);
    std::array<char, 128> text{};
    const char* words = ::fi_cq_strerror(queue_.get(), failure.prov_errno, failure.err_data, text.data(), text.size());
    if (!words) words = "";
    if (why != Errc::canceled)
        log(LogLevel::info, "ofi: an operation failed: %s (%s)", ::fi_strerror(failure.err), words);
    if (!failure.op_context) return true;
    FabricOp& op = ended(failure.op_context);
    op.done(op, Done{why == Errc::ok ? Errc::peer_lost : why, failure.len, words});
    return true;
}

unsigned Endpoint::poll(unsigned most) noexcept {
    constexpr std::size_t batch = 32;
    std::array<fi_cq_msg_entry, batch> entries;
    unsigned did = 0;
    while (did < most) {
        const ssize_t count = ::fi_cq_read(queue_.get(), entries.data(), entries.size());
        if (count == -FI_EAVAIL) {
            if (!hand_out_failure()) break;
            ++did;
            continue;
        }
        if (count <= 0) break;
        for (ssize_t i = 0; i < count; ++i) {
            const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
            FabricOp& op = ended(entry.op_context);
            op.done(op, Done{Errc::ok, entry.len});
        }
        did += static_cast<unsigned>(count);
        if (static_cast<std::size_t>(count) < entries.size()) break;
    }
    return did;
}

bool Endpoint::may_sleep() noexcept {
    fid* const queue = &queue_->fid;
    fid* list[] = {queue};
    return ::fi_trywait(fabric_, list, 1) == FI_SUCCESS;
}

Errc Endpoint::send(const std::byte* from, std::size_t bytes, const Registration& memory, fi_addr_t to,
                    FabricOp& op) noexcept {
    fid_ep* const endpoint = endpoint_.get();
    void* const known = descriptor(memory);
    return posted(tags_messages_ ? ::fi_tsend(endpoint, from, bytes, known, to, message_tag, &op.context)
                                 : ::fi_send(endpoint, from, bytes, known, to, &op.context));
}

Errc Endpoint::inject(const std::byte* from, std::size_t bytes, fi_addr_t to) noexcept {
    fid_ep* const endpoint = endpoint_.get();
    return posted(tags_messages_ ? ::fi_tinject(endpoint, from, bytes, to, message_tag)
                                 : ::fi_inject(endpoint, from, bytes, to));
}

Errc Endpoint::receive(std::byte* to, std::size_t bytes, const Registration& memory, FabricOp& op) noexcept {
    fid_ep* const endpoint = endpoint_.get();
    void* const known = descriptor(memory);
    constexpr fi_addr_t any = FI_ADDR_UNSPEC;
    return posted(tags_messages_ ? ::fi_trecv(endpoint, to, bytes, known, any, message_tag, 0, &op.context)
                                 : ::fi_recv(endpoint, to, bytes, known, any, &op.context));
}

Errc Endpoint::send_tagged(const iovec* pieces, std::size_t count, const Registration& memory, std::uint64_t tag,
                           fi_addr_t to, FabricOp& op) noexcept {
    void* const one = descriptor(memory);
    std::array<void*, 8> descriptors{};
    descriptors.fill(one);
    return posted(
        ::fi_tsendv(endpoint_.get(), pieces, one ? descriptors.data() : nullptr, count, to, tag, &op.context));
}

Errc Endpoint::receive_tagged(const iovec* pieces, std::size_t count, const Registration& memory, std::uint64_t tag,
                              fi_addr_t from, FabricOp& op) noexcept {
    void* const one = descriptor(memory);
    std::array<void*, 8> descriptors{};
    descriptors.fill(one);
    return posted(
        ::fi_trecvv(endpoint_.get(), pieces, one ? descriptors.data() : nullptr, count, from, tag, 0, &op.context));
}

Errc Endpoint::read(std::span<const iovec> to, const Registration& memory, std::span<const fi_rma_iov> from,
                    fi_addr_t peer, FabricOp& op) noexcept {
    std::array<void*, 8> descriptors{};
    descriptors.fill(descriptor(memory));
    const fi_msg_rma message{
        to.data(), descriptors.data(), to.size(), peer, from.data(), from.size(), &op.context, 0,
    };
    const Errc why = posted(::fi_readmsg(endpoint_.get(), &message, FI_COMPLETION));
    if (why == Errc::ok) op.reading = true, ++reading_;
    return why;
}

void Endpoint::cancel(FabricOp& op) noexcept { (void)::fi_cancel(&endpoint_->fid, &op.context); }

// All that has come is read first: RxM of 1.17 takes in the rest while it closes, and posts its buffers again to what
// it has closed already, which crashes over verbs. So does tcp, and RxM with it, where an answer to a read has come in
// part (tcpx_ep_flush_all_queues ends that one twice): those are waited for.
bool Endpoint::close() noexcept {
    constexpr int looks = 64;
    constexpr TimeUs patience_us = 100'000;
    const TimeUs until = steady_clock().now_us() + patience_us;
    std::array<fi_cq_msg_entry, 32> unread;
    for (int i = 0; endpoint_ && (i < looks || (reading_ > 0 && steady_clock().now_us() < until)); ++i) {
        const ssize_t count = ::fi_cq_read(queue_.get(), unread.data(), unread.size());
        for (ssize_t at = 0; at < count; ++at) (void)ended(unread[static_cast<std::size_t>(at)].op_context);
        if (count != -FI_EAVAIL) continue;
        fi_cq_err_entry failure{};
        const bool known = ::fi_cq_readerr(queue_.get(), &failure, 0) == 1 && failure.op_context;
        if (known) (void)ended(failure.op_context);
    }
    if (reading_ > 0) return false;
    endpoint_.reset();
    return true;
}

}  // namespace cinnabar::ofi
