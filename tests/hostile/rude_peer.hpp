// SPDX-License-Identifier: BSD-3-Clause
// A peer that makes its frames by hand, over any network. It follows the format but breaks the rules of use.
#pragma once

#include "frame.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cinnabar::hostile {

class RudePeer {
  public:
    enum class Sends : std::uint8_t {
        at_once,     // even if the peer never looks again
        in_batches,  // when the peer looks, as honest peers do
    };
    RudePeer(std::shared_ptr<na::Transport> transport, na::ContextId context, Sends sends = Sends::at_once);
    ~RudePeer();
    RudePeer(const RudePeer&) = delete;
    RudePeer& operator=(const RudePeer&) = delete;

    void meet(const na::Addr& target);
    // From now on the peer sends only if the target has a receive slot: some networks end the connection otherwise.
    void keep_to_slots() noexcept { keeps_to_slots_ = true; }
    // Makes progress and reads what has arrived. Without this call the peer reads nothing; frames that are sent at once
    // still leave, as long as the target reads.
    void look();
    [[nodiscard]] bool connected() const noexcept;
    [[nodiscard]] na::Context& context() noexcept { return *context_; }

    // Each of these sends one frame as soon as the network takes it. False: there is no free buffer.
    bool request(rpc::RpcId rpc, ConstBytes payload, std::uint16_t flags = 0,
                 std::uint64_t time_left = rpc::time_left_none);
    bool control(std::span<const rpc::ControlRecord> records, std::uint8_t flags);
    bool frame(ConstBytes bytes, na::Tag tag);
    // Whether a control message is unacknowledged, according to what this peer has read.
    [[nodiscard]] bool awaits_ack() const noexcept { return control_unacked_; }

    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
    // The number of replies that the peer has read.
    [[nodiscard]] std::uint64_t replies() const noexcept { return replies_; }
    // How many more requests the target allows, according to what this peer has read.
    [[nodiscard]] std::uint32_t credits() const noexcept { return credits_; }

    // From now on the peer records the last frames that it has sent and received.
    void remember() noexcept { remembers_ = true; }
    struct Frame {
        na::OpKind kind = na::OpKind::send_unexpected;
        na::Tag tag = 0;
        std::vector<std::byte> bytes;
    };
    [[nodiscard]] const std::deque<Frame>& remembered() const noexcept { return remembered_; }
    // Sends a recorded frame again unchanged, possibly one of another peer. Otherwise as frame().
    bool replay(const Frame& frame);
    // The number of calls from others, which take this peer for one that they know.
    [[nodiscard]] std::uint64_t calls_from_others() const noexcept { return calls_from_others_; }

    // Memory lent to this peer: the last large results of this connection that it recorded.
    struct Result {
        na::Tag tag = 0;
        std::vector<std::byte> descriptor;
        bool given_back = false;
    };
    [[nodiscard]] std::deque<Result>& results() noexcept { return results_; }
    // Tells the target that this peer has finished with the result. False: as control().
    bool give_back(Result& result);
    // Whether several requests may have used that tag, so that give_back() may release another request's result.
    [[nodiscard]] bool is_ambiguous(na::Tag tag) const noexcept { return replayed_.contains(tag); }
    // Reads everything (at most 1 MiB) through such a descriptor, of any peer and any age. `ended` runs once, at the
    // latest when this object is destroyed.
    void read(ConstBytes descriptor, std::function<void(Errc)> ended);
    [[nodiscard]] std::uint64_t reads_ended() const noexcept { return reads_ended_; }
    [[nodiscard]] bool is_reading() const noexcept;

    // Lends `bytes` bytes of memory and encodes the descriptor into `room`. Returns the encoded part.
    [[nodiscard]] ConstBytes lend(std::size_t bytes, Bytes room);

  private:
    struct Sent {
        na::Op op;
        RudePeer* owner = nullptr;
        bool free = true;
    };
    struct Read;
    [[nodiscard]] Sent& idle_slot();
    bool send(na::OpKind kind, ConstBytes bytes, na::Tag tag);
    void keep_in_mind(na::OpKind kind, na::Tag tag, ConstBytes bytes);
    void take(const na::Arrival& arrival) noexcept;
    void notice_connection() noexcept;
    bool acknowledge();

    std::shared_ptr<na::Transport> transport_;
    support::RecordingReceiver receiver_;
    std::unique_ptr<na::Context> context_;
    na::Peer* peer_ = nullptr;
    std::vector<std::unique_ptr<Sent>> sent_;
    std::uint64_t tag_ = 0;
    std::uint64_t frames_ = 0;
    std::uint64_t replies_ = 0;
    std::uint32_t credits_ = 0;
    bool was_connected_ = false;  // at the last look()
    bool keeps_to_slots_ = false;
    bool control_unacked_ = false;
    bool owes_ack_ = false;
    bool remembers_ = false;
    std::deque<Frame> remembered_;
    std::uint64_t calls_from_others_ = 0;
    std::deque<Result> results_;
    std::set<na::Tag> replayed_;
    std::vector<std::unique_ptr<Read>> reads_;
    std::uint64_t reads_ended_ = 0;
    std::vector<std::byte> sink_;  // for the bytes that were read, which are not used
    std::unique_ptr<na::Memory> sink_registered_;
    std::vector<std::byte> memory_;
    std::unique_ptr<na::Memory> registered_;
    na::Lease lease_;
};

}  // namespace cinnabar::hostile
