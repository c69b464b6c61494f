// SPDX-License-Identifier: BSD-3-Clause
// One opened shared-memory network: the name that it listens under, and the leases. Any thread.
#pragma once

#include "directory.hpp"
#include "greeting.hpp"
#include "lease_board.hpp"
#include "lease_key.hpp"
#include "local_socket.hpp"
#include "peer_process.hpp"
#include "ring.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/port_table.hpp>
#include <cinnabar/na/session/session_transport.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cinnabar::shm {

class ShmPort;

// An incoming connection whose greeting was received.
struct Incoming {
    PeerFd fd;
    Greeting greeting;
    Credentials credentials;
};

class ShmMemory final : public na::CountedMemory {
  public:
    ShmMemory(na::Transport& transport, std::span<const na::Segment> segments, na::Access access,
              const SharedMemory& shared, std::shared_ptr<na::Registrations> count);
    // The segments, for peers that copy; empty if there is only one.
    [[nodiscard]] const std::vector<BoardPiece>& pieces() const noexcept { return pieces_; }
    // The place of a single segment, if peers can map it.
    [[nodiscard]] const FilePosition& file_position() const noexcept { return file_position_; }

  private:
    std::vector<BoardPiece> pieces_;
    FilePosition file_position_;
};

class ShmTransport final : public na::SessionTransport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~ShmTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "shm"; }
    [[nodiscard]] std::vector<std::string> endpoints() const override;
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] void* allocate_memory(std::size_t bytes) noexcept override { return shared_.allocate(bytes); }
    void free_memory(void* memory, std::size_t) noexcept override { shared_.free(memory); }
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    // Has no effect on peers that copy across address spaces; for other peers this side checks each access.
    void confine(const na::Lease& lease, const na::Peer& peer) noexcept override { leases_.confine(lease, peer); }
    [[nodiscard]] bool keep_to_direct(const na::Lease& lease) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    [[nodiscard]] bool is_accessed(const na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, ByteWriter& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override { return key_bytes; }
    [[nodiscard]] std::string diagnosis() const override;

    // Used by the ports.
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    [[nodiscard]] const LeaseBoard& board() const noexcept { return board_; }
    [[nodiscard]] int listener() const noexcept { return holder_.socket(); }
    [[nodiscard]] const std::string& name() const noexcept { return holder_.name(); }
    // The largest record, without header, that a peer may write into this side's rings.
    [[nodiscard]] std::uint32_t record_bytes_max() const noexcept { return record_bytes_max_; }
    [[nodiscard]] std::uint32_t ring_bytes() const noexcept { return ring_bytes_; }
    // Whether this side may copy across address spaces at all (not with "?copy=buffers").
    [[nodiscard]] bool copies_across() const noexcept { return copies_across_; }
    // The terms for the greeting to that peer. Only processes of the same user are told of the lease board and the word
    // to probe.
    [[nodiscard]] Terms terms(const Credentials& peer) const noexcept;
    // Whether the process at the other end of that socket may be a peer.
    [[nodiscard]] bool welcome(int fd, const Credentials& sender) const noexcept;
    [[nodiscard]] na::PortTable<ShmPort>& ports() noexcept { return ports_; }

    // Watches the incoming ring of a session whose peer has the lease board: the peer writes into that ring which lease
    // it accesses (fences.cpp). False: out of memory.
    [[nodiscard]] bool watch(const RingHeader& incoming) noexcept;
    void unwatch(const RingHeader& incoming) noexcept;
    // Keeps the incoming ring of an ended session. Call it instead of unwatch() if that ring says that the peer still
    // accesses a lease. Allocates nothing.
    void linger(const RingHeader& incoming, Segment memory, pid_t pid, PeerProcess process) noexcept;
    [[nodiscard]] bool fences_pending() const noexcept { return fences_wait_.load(std::memory_order_seq_cst); }
    // Submits the work of leases whose fence is over, or has failed, to `host`; returns how many.
    unsigned check_fences(na::PortHost& host) noexcept;
    void count_session(bool copies) noexcept {
        (copies ? copying_sessions_ : buffered_sessions_).fetch_add(1, std::memory_order_relaxed);
    }

  private:
    explicit ShmTransport(const na::TransportOptions& options);
    [[nodiscard]] bool held(std::uint32_t slot) noexcept;
    void forget_lingering() noexcept;

    struct Lingering {
        Segment incoming_ring;
        pid_t pid = 0;
        PeerProcess process;  // may not be open
    };

    const std::uint64_t probe_word_;
    na::LeaseTable leases_{leases_max};
    LeaseBoard board_;
    SharedMemory shared_;
    std::uint32_t record_bytes_max_ = 0;
    std::uint32_t ring_bytes_ = 0;
    bool copies_across_ = true;
    std::optional<Directory> directory_;  // where it listens
    NameHolder holder_;
    std::atomic<std::uint64_t> copying_sessions_{0};
    std::atomic<std::uint64_t> buffered_sessions_{0};

    na::PortTable<ShmPort> ports_;

    std::mutex fence_mutex_;
    std::vector<const RingHeader*> incoming_rings_;
    std::vector<Lingering> lingering_;
    na::PendingFences fences_;
    std::atomic<bool> fences_wait_{false};
};

}  // namespace cinnabar::shm
