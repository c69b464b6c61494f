// SPDX-License-Identifier: BSD-3-Clause
#include "file_send.hpp"

#include "../harness/buffers.hpp"
#include "tcp_pair.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::size_t block_bytes = 1 << 20;

void serve(PartnerSide& side, int fd, std::uint64_t bytes, std::size_t room_bytes) {
    Buffers room{room_bytes / block_bytes, block_bytes, Pages::huge};  // as Node::allocate does
    side.announce("ready");
    while (side.wait_slice()) {
        for (std::uint64_t done = 0; done < bytes; done += block_bytes)
            receive_all(fd, room.next(), block_bytes, Wait::block);
        side.end_slice();
    }
}

class BareSendfile final : public Subject {
  public:
    BareSendfile(Cores cores, const std::filesystem::path& source, std::size_t room_bytes)
        : file_(::open(source.c_str(), O_RDONLY | O_CLOEXEC)),
          bytes_(std::filesystem::file_size(source) / block_bytes * block_bytes),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, sockets_.server.get(), bytes_, room_bytes); }) {}

    // Measures the time until the server has received everything.
    Slice run_slice(std::chrono::milliseconds) override {
        partner_.begin_slice();
        Slice slice;
        const Usage used = usage_now();
        const double begin = seconds_now();
        send();
        slice.client = usage_now() - used;
        slice.server = partner_.finish_slice();
        slice.seconds = seconds_now() - begin;
        slice.work = static_cast<double>(bytes_);
        return slice;
    }

  private:
    void send() const {
        for (off_t at = 0; static_cast<std::uint64_t>(at) < bytes_;) {
            const std::uint64_t left = bytes_ - static_cast<std::uint64_t>(at);
            if (::sendfile(sockets_.client.get(), file_.get(), &at, left) <= 0) throw std::runtime_error{"sendfile"};
        }
    }
    UniqueFd file_;
    std::uint64_t bytes_;
    TcpPair sockets_ = make_tcp_pair();
    Partner partner_;
};

}  // namespace

std::unique_ptr<Subject> make_bare_sendfile(Cores cores, std::filesystem::path source, std::size_t room_bytes) {
    return std::make_unique<BareSendfile>(cores, source, room_bytes);
}

}  // namespace cinnabar::bench
