// SPDX-License-Identifier: BSD-3-Clause
// A raw stream of large blocks.
#include "../harness/buffers.hpp"
#include "limits.hpp"
#include "tcp_pair.hpp"

namespace cinnabar::bench {
namespace {

class Stream : public Subject {
  public:
    Stream(Cores cores, Direction direction, std::size_t block_bytes, std::size_t buffers)
        : to_client_(direction == Direction::to_client),
          buffers_(buffers, block_bytes),
          partner_(cores.server, [&](PartnerSide& side) {
              serve(side, sockets_.server.get(), direction, Buffers{buffers, block_bytes});
          }) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] { return to_client_ ? receive_for(duration) : send_for(duration); });
    }

  private:
    // Receives whole blocks until the time is up; then everything that the server has begun to send.
    double receive_for(std::chrono::milliseconds duration) {
        const int fd = sockets_.client.get();
        const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
        std::uint64_t blocks = 0;
        while (seconds_now() < end) {
            receive_all(fd, buffers_.next(), buffers_.bytes_each(), Wait::spin);
            ++blocks;
        }
        auto& page = partner_.page();
        page.client_finished.store(true);
        for (;;) {
            // `running` is read first: the server counts a block before it sends it, and clears `running` after the
            // last one.
            const bool over = !page.running.load();
            if (page.server_work.load() > blocks) {
                receive_all(fd, buffers_.next(), buffers_.bytes_each(), Wait::spin);
                ++blocks;
            } else if (over) {
                break;
            }
        }
        return static_cast<double>(blocks * buffers_.bytes_each());
    }

    double send_for(std::chrono::milliseconds duration) {
        const int fd = sockets_.client.get();
        const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
        std::uint64_t blocks = 0;
        while (seconds_now() < end) {
            send_all(fd, buffers_.next(), buffers_.bytes_each(), Wait::spin);
            ++blocks;
        }
        while (partner_.page().server_work.load() < blocks) {
        }
        return static_cast<double>(blocks * buffers_.bytes_each());
    }

    static void serve(PartnerSide& side, int fd, Direction direction, Buffers buffers) {
        side.announce("ready");
        auto& page = side.page();
        while (side.wait_slice()) {
            if (direction == Direction::to_client) {
                while (!page.client_finished.load()) {
                    page.server_work.fetch_add(1);
                    send_all(fd, buffers.next(), buffers.bytes_each(), Wait::spin);
                }
                page.running.store(false);
            } else {
                std::size_t got = 0;
                auto* block = buffers.next();
                while (side.running()) {
                    got += receive_some(fd, block + got, buffers.bytes_each() - got);
                    if (got < buffers.bytes_each()) continue;
                    got = 0;
                    block = buffers.next();
                    page.server_work.fetch_add(1);
                }
            }
            side.end_slice();
        }
    }

    bool to_client_;
    Buffers buffers_;
    TcpPair sockets_ = make_tcp_pair();
    Partner partner_;
};

}  // namespace

std::unique_ptr<Subject> make_stream(Cores cores, Direction direction, std::size_t block_bytes, std::size_t buffers) {
    return std::make_unique<Stream>(cores, direction, block_bytes, buffers);
}

}  // namespace cinnabar::bench
