// SPDX-License-Identifier: BSD-3-Clause
// A hand-made peer, which sends and writes what a correct peer never does, and a process for it to connect to.
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
    // Ready to send its greeting, which may be changed before.
    RawPeer();

    na::Hello hello;
    Terms terms;
    UniqueFd socket;
    UniqueFd ring_fd;
    UniqueFd bell_fd;
    UniqueFd board_fd;
    Segment own_ring;
    Segment board;
    Greeting answer;  // the answer
    Segment peer_ring;
    RingWriter writer;
    RingReader reader;
    BoardView view;  // of the other side's leases

    void dial(const std::string& path);
    void greet();
    // Maps the memory that came with the answer.
    void take_answer();
    void write(const Record& record, ConstBytes payload = {});
    void ring_bell() { ring_socket(socket.get()); }
    // Ends the session by a malformed record, while it says that it holds a lease.
    void end_while_holding();
};

// Rings that are mapped here, from either end.
[[nodiscard]] std::size_t rings_mapped();

class ShmTest : public testing::Test {
  protected:
    explicit ShmTest(const std::string& uri = "shm://server");
    ~ShmTest() override;

    // Completes the handshake, so that records may be written.
    void connect(RawPeer& peer);
    [[nodiscard]] Errc answer_to(RawPeer& peer);
    [[nodiscard]] std::string path() const;  // of its socket
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
