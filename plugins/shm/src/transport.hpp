// SPDX-License-Identifier: BSD-3-Clause
// One opened network of shared memory: the name it listens under, the leases, and which context has which port. Any
// thread.
#pragma once

#include "directory.hpp"
#include "greeting.hpp"
#include "lease_board.hpp"
#include "local_socket.hpp"
#include "remote_key.hpp"
#include "ring.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/registrations.hpp>
#include <cinnabar/na/transport.hpp>
#include <cinnabar/na/uri.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace cinnabar::shm {

class ShmPort;

// A socket on which a greeting came.
struct Caller {
    UniqueFd fd;
    Greeting greeting;
    Credentials who;
};

class ShmMemory final : public na::CountedMemory {
  public:
    ShmMemory(na::Transport& transport, std::span<const na::Segment> segments, na::Access access,
              const SharedMemory& shared, std::shared_ptr<na::Registrations> count);
    // Where the segments are, for peers that copy by themselves; empty for a single one.
    [[nodiscard]] const std::vector<BoardPiece>& pieces() const noexcept { return pieces_; }
    // Where a single segment lies, if peers can map it.
    [[nodiscard]] const FilePlace& place() const noexcept { return place_; }

  private:
    std::vector<BoardPiece> pieces_;
    FilePlace place_;
};

class ShmTransport final : public na::Transport {
  public:
    [[nodiscard]] static Result<std::unique_ptr<na::Transport>> open(const na::Uri& uri,
                                                                     const na::TransportOptions& options);
    ~ShmTransport() override;

    [[nodiscard]] std::string_view scheme() const noexcept override { return "shm"; }
    [[nodiscard]] const na::Caps& caps() const noexcept override { return caps_; }
    [[nodiscard]] const na::Limits& limits() const noexcept override { return limits_; }
    [[nodiscard]] na::Incarnation incarnation() const noexcept override { return incarnation_; }
    [[nodiscard]] std::vector<std::string> endpoints() const override;
    [[nodiscard]] bool reaches(std::string_view endpoint) const noexcept override;
    [[nodiscard]] Result<std::unique_ptr<na::Port>> open_port(na::PortHost& host) override;
    [[nodiscard]] Result<std::unique_ptr<na::Memory>> register_memory(std::span<const na::Segment> segments,
                                                                      na::Access access) override;
    [[nodiscard]] void* allocate_memory(std::size_t bytes) noexcept override { return shared_.allocate(bytes); }
    void free_memory(void* memory, std::size_t) noexcept override { shared_.free(memory); }
    [[nodiscard]] Errc grant(na::Lease& lease) noexcept override;
    [[nodiscard]] Errc revoke(na::Lease& lease) noexcept override;
    void describe(const na::Lease& lease, Writer& writer) const noexcept override;
    [[nodiscard]] std::size_t described_bytes(const na::Lease&) const noexcept override { return key_bytes; }
    [[nodiscard]] std::string diagnosis() const override;

    // For the ports.
    [[nodiscard]] const na::TransportOptions& options() const noexcept { return options_; }
    [[nodiscard]] na::LeaseTable& leases() noexcept { return leases_; }
    [[nodiscard]] const LeaseBoard& board() const noexcept { return board_; }
    [[nodiscard]] int listener() const noexcept { return holder_.socket(); }
    [[nodiscard]] const std::string& name() const noexcept { return holder_.name(); }
    // What a peer may have in one record of a ring of ours.
    [[nodiscard]] std::uint32_t record_bytes_max() const noexcept { return record_bytes_max_; }
    [[nodiscard]] std::uint32_t ring_bytes() const noexcept { return ring_bytes_; }
    // Whether accesses of ours may be copies across address spaces at all ("?copy=buffers" says no).
    [[nodiscard]] bool copies_across() const noexcept { return copies_across_; }
    [[nodiscard]] const volatile std::uint64_t& probe_word() const noexcept { return probe_word_; }
    // Whether a process of that user, at that socket, may talk to us.
    [[nodiscard]] bool welcome(int fd, const Credentials& who) const noexcept;
    void port_closed(const ShmPort& port, na::ContextId context) noexcept;
    // Moves a caller to the port of the context that it means, in whatever thread that lives. unreachable: there is
    // none; overloaded: as many wait there as may. Then it is as it was.
    [[nodiscard]] Errc hand_over(Caller& caller) noexcept;

    // The rings that peers write into say which lease they access (fence.cpp).
    void watch(const RingHeader& ring);
    void unwatch(const RingHeader& ring) noexcept;
    // Of a session that this side ended while its peer held a lease.
    void linger(Segment ring, pid_t pid);
    [[nodiscard]] bool fences_pending() const noexcept { return fences_count_.load(std::memory_order_seq_cst) != 0; }
    // Looks whether pending fences are done; what is done is submitted to `host`.
    unsigned check_fences(na::PortHost& host) noexcept;
    void count_session(bool copies) noexcept {
        (copies ? copying_sessions_ : buffered_sessions_).fetch_add(1, std::memory_order_relaxed);
    }

  private:
    explicit ShmTransport(const na::TransportOptions& options);
    [[nodiscard]] bool held(std::uint32_t slot) noexcept;
    struct Fence {
        na::Lease* lease = nullptr;  // null: told as failed, the slot waits for whoever holds it
        std::uint32_t slot = 0;
        TimeUs until = 0;
    };

    struct Lingering {
        Segment ring;
        pid_t pid = 0;
    };

    const na::TransportOptions options_;
    const na::Incarnation incarnation_;
    const std::uint64_t probe_word_;
    na::Caps caps_;
    na::Limits limits_;
    na::LeaseTable leases_;
    LeaseBoard board_;
    SharedMemory shared_;
    std::uint32_t record_bytes_max_ = 0;
    std::uint32_t ring_bytes_ = 0;
    bool copies_across_ = true;
    std::optional<Directory> directory_;  // of the listener
    NameHolder holder_;
    const std::shared_ptr<na::Registrations> registrations_ = std::make_shared<na::Registrations>(options_);
    std::atomic<std::uint64_t> copying_sessions_{0};
    std::atomic<std::uint64_t> buffered_sessions_{0};

    mutable std::mutex mutex_;
    std::unordered_map<na::ContextId, ShmPort*> ports_;

    std::mutex fence_mutex_;
    std::vector<const RingHeader*> rings_;
    std::vector<Lingering> lingering_;
    std::vector<Fence> fences_;
    std::atomic<std::uint32_t> fences_count_{0};
};

}  // namespace cinnabar::shm
