// SPDX-License-Identifier: BSD-3-Clause
// A hand-made peer, which sends and writes what a correct peer never does, and a process to which it connects.
#pragma once

#include "lease_board.hpp"
#include "local_socket.hpp"
#include "ring.hpp"
#include "support/folder.hpp"
#include "support/log_watch.hpp"
#include "support/patterns.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/plugins/shm.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::shm {

class RawPeer {
  public:
    // The greeting is ready to be sent, and may be changed before.
    RawPeer();

    na::Hello hello;
    Terms terms;
    UniqueFd socket;
    UniqueFd ring_fd;
    UniqueFd bell_fd;
    UniqueFd board_fd;
    Segment incoming_ring;
    Segment board;
    Greeting answer;  // received by take_answer() or answer_to()
    Segment outgoing_ring;
    RingWriter writer;
    RingReader reader;
    BoardView view;  // of the other side's leases

    void dial(const std::string& path);
    void greet();
    // Maps the memory whose descriptors came with the answer.
    void take_answer();
    void write(const Record& record, ConstBytes payload = {});
    void ring_bell() { ring_socket(socket.get()); }
    // Ends the session with a malformed record, while the ring says that this peer holds a lease.
    void end_while_holding();
};

// The number of rings that are mapped in this process, by either end.
[[nodiscard]] std::size_t rings_mapped();

class ShmTest : public testing::Test {
  protected:
    explicit ShmTest(const std::string& uri = "shm://server");
    ~ShmTest() override;

    // Completes the handshake, so that records may be written.
    void connect(RawPeer& peer);
    [[nodiscard]] Errc answer_to(RawPeer& peer);
    [[nodiscard]] std::string path() const;  // of the fixture's socket
    [[nodiscard]] testing::AssertionResult until(const std::function<bool()>& done);
    [[nodiscard]] unsigned lost() const { return static_cast<unsigned>(receiver_.count(na::PeerEvent::lost)); }

    support::LogWatch log_;
    const support::Folder root_;
    support::Pump pump_;
    std::unique_ptr<na::Transport> transport_;
    support::RecordingReceiver receiver_;
    std::unique_ptr<na::Context> context_;
};

}  // namespace cinnabar::shm
