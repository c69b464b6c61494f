// SPDX-License-Identifier: BSD-3-Clause
#include "endpoint.hpp"

#include "shared_name.hpp"

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

// The tag of messages, for providers that tag them. Tags of chunks are shorter, so they differ.
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
    self.counts_sends_ = provider.lingers;
    self.inject_bytes_max_ = provider.lingers ? 0 : info.tx_attr->inject_size;
    self.sends_max_ = info.tx_attr->size;
    self.receives_max_ = info.rx_attr->size;
    self.pieces_max_ = std::min(info.tx_attr->iov_limit, info.rx_attr->iov_limit);
    self.stages_ = provider.lingers || (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    self.sends_leased_ = provider.returns_sends && !self.stages_;
    self.tags_messages_ = provider.tags_messages;
    self.tells_source_ = provider.tells_source;
    self.maps_names_ = provider.maps_names;
    self.registrar_.emplace(*domain, *endpoint, *info.domain_attr);
    return made;
}

// Opens and enables the endpoint. Tries again if the endpoint's name is taken, because a killed process that had the
// same pid may have left the name behind (smr_create). Each try uses another name.
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
    if (maps_names_) {
        if (const Errc refused = may_map(address); refused != Errc::ok) return refused;
    } else if (address.size() != address_.size()) {
        return Errc::protocol;
    }
    return addresses_->insert(address, out);
}

bool Endpoint::hand_out_failure() noexcept {
    fi_cq_err_entry failure{};
    if (::fi_cq_readerr(queue_.get(), &failure, 0) != 1) return false;
    const Errc why = errc_of(failure.err);
    std::array<char, 128> text{};
    const char* words = ::fi_cq_strerror(queue_.get(), failure.prov_errno, failure.err_data, text.data(), text.size());
    if (!words) words = "";
    if (why != Errc::canceled) {
        static constinit LogLimit lines;
        log_limited(lines, LogLevel::info, "ofi", "an operation failed: %s (%s)",
                    fabric_library().strerror(failure.err), words);
    }
    if (!failure.op_context) return true;
    completed(failure.flags);
    FabricOp& op = op_of(failure.op_context);
    op.done(op, Done{why == Errc::ok ? Errc::peer_lost : why, failure.len, words});
    return true;
}

unsigned Endpoint::poll(unsigned most) noexcept {
    constexpr std::size_t batch = 32;
    std::array<fi_cq_msg_entry, batch> entries;
    std::array<fi_addr_t, batch> sources;
    sources.fill(FI_ADDR_NOTAVAIL);
    unsigned did = 0;
    sent_since_poll_ = false;
    while (did < most) {
        const ssize_t count = tells_source_
                                  ? ::fi_cq_readfrom(queue_.get(), entries.data(), entries.size(), sources.data())
                                  : ::fi_cq_read(queue_.get(), entries.data(), entries.size());
        if (count == -FI_EAVAIL) {
            if (!hand_out_failure()) break;
            ++did;
            continue;
        }
        if (count <= 0) break;
        for (ssize_t i = 0; i < count; ++i) {
            const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
            completed(entry.flags);
            FabricOp& op = op_of(entry.op_context);
            op.done(op, Done{Errc::ok, entry.len, nullptr, sources[static_cast<std::size_t>(i)]});
        }
        did += static_cast<unsigned>(count);
        if (static_cast<std::size_t>(count) < entries.size()) break;
    }
    return did;
}

// Returns false if something was sent since the last poll, because the send may have completed at once. The provider
// `net` then makes its descriptor readable, but fi_trywait resets the descriptor without checking for completions
// (util_wait_fd_try, xnet_cq_wait_try_func).
bool Endpoint::may_sleep() noexcept {
    if (sent_since_poll_) return false;
    fid* const queue = &queue_->fid;
    fid* list[] = {queue};
    return ::fi_trywait(fabric_, list, 1) == FI_SUCCESS;
}

Errc Endpoint::sent(ssize_t outcome) noexcept {
    sent_since_poll_ = sent_since_poll_ || outcome == 0;
    if (outcome == 0 && counts_sends_) ++sends_out_;
    return posted(outcome);
}

void Endpoint::completed(std::uint64_t flags) noexcept {
    if (counts_sends_ && (flags & FI_SEND) != 0) --sends_out_;
}

Errc Endpoint::send(const std::byte* from, std::size_t bytes, const Registration& memory, fi_addr_t to,
                    FabricOp& op) noexcept {
    if (!has_send_room()) return Errc::again;
    fid_ep* const endpoint = endpoint_.get();
    void* const known = descriptor(memory);
    return sent(tags_messages_ ? ::fi_tsend(endpoint, from, bytes, known, to, message_tag, &op.context)
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
    if (!has_send_room()) return Errc::again;
    void* const one = descriptor(memory);
    std::array<void*, 8> descriptors{};
    descriptors.fill(one);
    return sent(::fi_tsendv(endpoint_.get(), pieces, one ? descriptors.data() : nullptr, count, to, tag, &op.context));
}

Errc Endpoint::receive_tagged(const iovec* pieces, std::size_t count, const Registration& memory, std::uint64_t tag,
                              fi_addr_t from, FabricOp& op) noexcept {
    void* const one = descriptor(memory);
    std::array<void*, 8> descriptors{};
    descriptors.fill(one);
    return posted(
        ::fi_trecvv(endpoint_.get(), pieces, one ? descriptors.data() : nullptr, count, from, tag, 0, &op.context));
}

void Endpoint::cancel(FabricOp& op) noexcept { (void)::fi_cancel(&endpoint_->fid, &op.context); }

// Closes the endpoint, but reads its completions first. Otherwise RxM of 1.17 reads the remaining completions while it
// closes, and posts their buffers again to objects that it has already closed, which crashes over verbs.
void Endpoint::close() noexcept {
    constexpr int looks = 64;
    std::array<fi_cq_msg_entry, 32> unread;
    for (int i = 0; endpoint_ && i < looks; ++i) {
        const ssize_t count = ::fi_cq_read(queue_.get(), unread.data(), unread.size());
        fi_cq_err_entry failure{};
        if (count == -FI_EAVAIL) (void)::fi_cq_readerr(queue_.get(), &failure, 0);
    }
    endpoint_.reset();
}

}  // namespace cinnabar::ofi
