// SPDX-License-Identifier: BSD-3-Clause
// Reads of the server's memory over bare libfabric.
#include "fabric_port.hpp"

#include <sstream>
#include <stdexcept>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr double overtime_seconds_max = 10;

class FabricRead : public Subject {
  public:
    FabricRead(Cores cores, Fabric fabric, std::size_t block_bytes, std::size_t in_flight)
        : buffers_(in_flight, block_bytes),
          partner_(cores.server,
                   [=](PartnerSide& side) {
                       serve(side, fabric, Buffers{in_flight, block_bytes});
                   }),
          port_(fabric) {
        std::istringstream words{partner_.announced()};
        std::string server;
        if (!(words >> server >> remote_ >> key_)) throw std::runtime_error{"what the server announces is no address"};
        port_.prepare(buffers_.all());
        for (std::size_t i = 0; i < in_flight; ++i) idle_.push_back(buffers_.at(i));
        partner_.begin_slice();
        port_.meet_server(server);
        partner_.finish_slice();
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] { return read_for(duration); });
    }

  private:
    double read_for(std::chrono::milliseconds duration) {
        const double seconds = std::chrono::duration<double>(duration).count();
        const auto end = seconds_now() + seconds;
        SpinLimit limit{seconds + overtime_seconds_max, "reads over libfabric do not end"};
        std::uint64_t blocks = 0;
        for (bool more = true; more || idle_.size() < buffers_.count();) {
            while (more && !idle_.empty() && read_into(idle_.back())) idle_.pop_back();
            const auto before = idle_.size();
            port_.poll([this](void* block) { idle_.push_back(static_cast<std::byte*>(block)); });
            blocks += idle_.size() - before;
            if (seconds_now() >= end) more = false;
            if (idle_.size() == before) limit.look();
        }
        return static_cast<double>(blocks * buffers_.bytes_each());
    }
    [[nodiscard]] bool read_into(std::byte* block) {
        const auto at = static_cast<std::uint64_t>(block - buffers_.at(0));
        return port_.read({block, buffers_.bytes_each()}, remote_ + at, key_, block);
    }

    static void serve(PartnerSide& side, Fabric fabric, Buffers buffers) {
        FabricPort port{fabric};
        const auto lent = port.lend(buffers.all());
        side.announce(port.address() + ' ' + lent);
        if (!side.wait_slice()) return;
        port.meet_client();
        side.end_slice();
        while (side.wait_slice()) {
            while (side.running()) {
                port.poll([](void*) {});
            }
            side.end_slice();
        }
    }

    Buffers buffers_;
    Partner partner_;
    FabricPort port_;
    std::uint64_t remote_ = 0;
    std::uint64_t key_ = 0;
    std::vector<std::byte*> idle_;
};

}  // namespace

std::unique_ptr<Subject> make_fabric_read(Cores cores, Fabric fabric, std::size_t block_bytes, std::size_t in_flight) {
    return std::make_unique<FabricRead>(cores, fabric, block_bytes, in_flight);
}

}  // namespace cinnabar::bench
