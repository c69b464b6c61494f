// SPDX-License-Identifier: BSD-3-Clause
// The data path of a verbs transport on the na contract: a shared receive queue, a queue pair for each peer, RDMA read
// and write, write with immediate, and registered messages. It is compiled, not run: the question is whether anything
// in the contract stands in the way. Connection management is left out. What was learnt is at the end of
// docs/writing-a-plugin.md.
#include <cinnabar/na/transport.hpp>

#include <infiniband/verbs.h>
#include <sys/uio.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace cinnabar::verbs {
namespace {

constexpr int sge_max = 16;
constexpr std::uint32_t message_header_bytes = 16;  // tag, kind: in the header room

struct VerbsPeer : na::Peer {
    VerbsPeer(na::Port& owner, na::Addr addr) : Peer(owner, std::move(addr)) {}
    ibv_qp* queue_pair = nullptr;
    std::uint32_t sends_free = 0;
};

struct VerbsMemory : na::Memory {
    VerbsMemory(na::Transport& transport, std::span<const na::Segment> segments, na::Access access)
        : Memory(transport, segments, access) {}
    std::vector<ibv_mr*> keys;  // one a segment
    ~VerbsMemory() override {
        for (ibv_mr* key : keys) ibv_dereg_mr(key);
    }
};

// What describe() writes for each segment, and what an origin reads back for each RMA: nothing else is needed, since
// the planner never crosses a remote segment on a transport without offset_addressing.
struct WireSegment {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t rkey;
    std::uint32_t zero;
};

// The state that a plugin keeps in an op.
struct OpState {
    na::Op* next;
    std::uint32_t sends;
};
static_assert(sizeof(OpState) <= na::op_private_bytes_max);

struct ReceiveSlot {
    std::byte* bytes = nullptr;
    ibv_mr* key = nullptr;
    bool spare = false;
};

class VerbsPort final : public na::Port {
  public:
    VerbsPort(na::PortHost& host, ibv_cq* completions, ibv_srq* receives)
        : host_(host), completions_(completions), receives_(receives) {}

    void close() noexcept override {}
    Result<na::Peer*> peer(const na::Addr& addr) override {
        return Error(Errc::unsupported, "this slice does not connect", addr.to_string());
    }
    void unreferenced(na::Peer&) noexcept override {}
    void disconnect(na::Peer& peer) noexcept override {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;  // flushes what is posted: each op completes with peer_lost
        (void)ibv_modify_qp(static_cast<VerbsPeer&>(peer).queue_pair, &attributes, IBV_QP_STATE);
    }

    Errc post(na::Op& op) noexcept override {
        VerbsPeer& peer = static_cast<VerbsPeer&>(*op.peer);
        if (peer.sends_free == 0) return Errc::again;
        std::array<ibv_sge, sge_max> pieces{};
        ibv_send_wr work{};
        work.wr_id = reinterpret_cast<std::uintptr_t>(&op);
        work.send_flags = IBV_SEND_SIGNALED;
        work.sg_list = pieces.data();
        switch (op.kind) {
            case na::OpKind::send_unexpected:
            case na::OpKind::send_expected:
                send(op, work, pieces);
                break;
            case na::OpKind::put:
                rma(op, IBV_WR_RDMA_WRITE, work, pieces);
                break;
            case na::OpKind::get:
                rma(op, IBV_WR_RDMA_READ, work, pieces);
                break;
            case na::OpKind::put_notify:
                rma(op, IBV_WR_RDMA_WRITE_WITH_IMM, work, pieces);
                work.imm_data = op.notify;
                break;
            case na::OpKind::fetch_add:
            case na::OpKind::compare_swap:
                return Errc::unsupported;  // as caps say
        }
        ibv_send_wr* bad = nullptr;
        const int failed = ibv_post_send(peer.queue_pair, &work, &bad);
        if (failed == ENOMEM) return Errc::again;
        if (failed != 0) return errc_from_errno(failed);
        --peer.sends_free;
        return Errc::ok;
    }

    // A posted work request cannot be recalled: the completion comes when it comes, and only then is memory free.
    void cancel(na::Op&) noexcept override {}

    unsigned poll() noexcept override {
        std::array<ibv_wc, 32> done{};
        const int count = ibv_poll_cq(completions_, static_cast<int>(done.size()), done.data());
        for (int i = 0; i < count; ++i) completed(done[static_cast<std::size_t>(i)]);
        return count > 0 ? static_cast<unsigned>(count) : 0;
    }
    void flush() noexcept override {}
    bool prepare_wait() noexcept override { return ibv_req_notify_cq(completions_, 0) == 0 && poll() == 0; }

    na::Message* take_message() noexcept override { return messages_.acquire(); }
    void give_message(na::Message& message) noexcept override { messages_.release(message); }

    // Kept: the slot is simply not posted again. Detached: a spare is posted in its place.
    Errc keep(na::Arrival& arrival, na::Kept& out) noexcept override {
        out = {arrival.bytes, this, arrival.token, arrival.index, false};
        keeping_ = true;
        return Errc::ok;
    }
    Errc detach(na::Kept& kept) noexcept override {
        if (spares_.empty()) return Errc::overloaded;
        repost(*spares_.back());
        spares_.pop_back();
        kept.detached = true;
        return Errc::ok;
    }
    void release(na::Kept& kept) noexcept override {
        auto& slot = *static_cast<ReceiveSlot*>(kept.token);
        if (kept.detached) {
            spares_.push_back(&slot);
        } else {
            repost(slot);
        }
        kept = {};
    }
    void stop_accepting() noexcept override {}

  private:
    static void send(na::Op& op, ibv_send_wr& work, std::array<ibv_sge, sge_max>& pieces) noexcept {
        std::byte* header = op.message->payload - message_header_bytes;
        std::memcpy(header, &op.tag, sizeof op.tag);
        const auto kind = static_cast<std::uint64_t>(op.kind);
        std::memcpy(header + 8, &kind, sizeof kind);
        const auto* key = static_cast<const ibv_mr*>(op.message->registration);
        pieces[0] = {reinterpret_cast<std::uintptr_t>(header), message_header_bytes + op.message_bytes, key->lkey};
        work.num_sge = 1;
        work.opcode = IBV_WR_SEND;
        if (op.message_bytes <= 128) work.send_flags |= IBV_SEND_INLINE;
    }

    static void rma(na::Op& op, ibv_wr_opcode opcode, ibv_send_wr& work,
                    std::array<ibv_sge, sge_max>& pieces) noexcept {
        const auto& memory = static_cast<const VerbsMemory&>(*op.local);
        std::array<iovec, sge_max> parts{};
        std::uint64_t covered = 0;
        const std::size_t count = memory.gather(op.local_offset, op.bytes, parts.data(), parts.size(), covered);
        const std::size_t first = op.bytes ? memory.segment_at(op.local_offset) : 0;
        for (std::size_t i = 0; i < count; ++i) {
            pieces[i] = {reinterpret_cast<std::uintptr_t>(parts[i].iov_base),
                         static_cast<std::uint32_t>(parts[i].iov_len), memory.keys[first + i]->lkey};
        }
        work.num_sge = static_cast<int>(count);
        work.opcode = opcode;
        std::uint64_t offset = op.remote_offset;
        for (ConstBytes key = op.remote.key; key.size() >= sizeof(WireSegment);
             key = key.subspan(sizeof(WireSegment))) {
            WireSegment segment{};
            std::memcpy(&segment, key.data(), sizeof segment);
            if (offset < segment.bytes) {
                work.wr.rdma.remote_addr = segment.address + offset;
                work.wr.rdma.rkey = segment.rkey;
                return;
            }
            offset -= segment.bytes;
        }
    }

    void completed(const ibv_wc& done) noexcept {
        if ((done.opcode & IBV_WC_RECV) != 0) return received(done);
        auto& op = *reinterpret_cast<na::Op*>(done.wr_id);
        ++static_cast<VerbsPeer&>(*op.peer).sends_free;
        const Errc result = done.status == IBV_WC_SUCCESS          ? Errc::ok
                            : done.status == IBV_WC_REM_ACCESS_ERR ? Errc::permission
                                                                   : Errc::peer_lost;
        host_.complete(op, result);
    }

    void received(const ibv_wc& done) noexcept {
        auto& slot = *reinterpret_cast<ReceiveSlot*>(done.wr_id);
        VerbsPeer* source = peer_of(done.qp_num);
        if (source && done.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
            host_.receiver().on_notify(*source, done.imm_data);
        } else if (source && done.byte_len >= message_header_bytes) {
            std::uint64_t kind = 0;
            na::Arrival arrival;
            arrival.bytes = {slot.bytes + message_header_bytes, done.byte_len - message_header_bytes};
            arrival.source = source;
            std::memcpy(&arrival.tag, slot.bytes, sizeof arrival.tag);
            std::memcpy(&kind, slot.bytes + 8, sizeof kind);
            arrival.port = this;
            arrival.token = &slot;
            keeping_ = false;
            if (kind == static_cast<std::uint64_t>(na::OpKind::send_expected)) {
                host_.receiver().on_expected(arrival);
            } else {
                host_.receiver().on_unexpected(arrival);
            }
            if (keeping_) return;
        }
        repost(slot);
    }

    void repost(ReceiveSlot& slot) noexcept {
        ibv_sge piece{reinterpret_cast<std::uintptr_t>(slot.bytes), static_cast<std::uint32_t>(slot.key->length),
                      slot.key->lkey};
        ibv_recv_wr work{};
        work.wr_id = reinterpret_cast<std::uintptr_t>(&slot);
        work.sg_list = &piece;
        work.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        (void)ibv_post_srq_recv(receives_, &work, &bad);
    }

    [[nodiscard]] VerbsPeer* peer_of(std::uint32_t queue_pair) const noexcept {
        for (VerbsPeer* each : peers_) {
            if (each->queue_pair->qp_num == queue_pair) return each;
        }
        return nullptr;
    }

    na::PortHost& host_;
    ibv_cq* completions_;
    ibv_srq* receives_;
    std::vector<VerbsPeer*> peers_;
    std::vector<ReceiveSlot*> spares_;
    SlotPool<na::Message> messages_{Threads::many, 1024};
    bool keeping_ = false;
};

}  // namespace

// Keeps the slice from being thrown away.
std::unique_ptr<na::Port> make_port(na::PortHost& host, ibv_cq* completions, ibv_srq* receives) {
    return std::make_unique<VerbsPort>(host, completions, receives);
}

// Registration and leases: the key of a lease is the list of its segments' addresses and rkeys. Taking one back needs a
// memory window, or the queue pair's error state: revoke() then answers `again` and lease.fenced runs.
Result<std::unique_ptr<na::Memory>> register_memory(na::Transport& transport, ibv_pd* domain,
                                                    std::span<const na::Segment> segments, na::Access access) {
    auto memory = std::make_unique<VerbsMemory>(transport, segments, access);
    int flags = IBV_ACCESS_LOCAL_WRITE;
    if (allows(access, na::Access::read)) flags |= IBV_ACCESS_REMOTE_READ;
    if (allows(access, na::Access::write)) flags |= IBV_ACCESS_REMOTE_WRITE;
    for (const na::Segment& segment : memory->segments()) {
        ibv_mr* key = ibv_reg_mr(domain, segment.base, segment.bytes, static_cast<unsigned>(flags));
        if (!key)
            return Error(errc_from_errno(errno), "registering memory: raise the limit of locked memory", {}, errno);
        memory->keys.push_back(key);
    }
    return std::unique_ptr<na::Memory>(std::move(memory));
}

}  // namespace cinnabar::verbs
