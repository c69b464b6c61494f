// SPDX-License-Identifier: BSD-3-Clause
#include "rtt_under_bulk.hpp"

#include "../harness/buffers.hpp"
#include "../harness/statistics.hpp"
#include "lent.hpp"
#include "rpc_endpoint.hpp"

#include <cinnabar/bulk/transfer.hpp>

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds no_wait{0};
constexpr Microseconds call_time{5'000'000};
constexpr std::size_t mebibyte = 1 << 20;
constexpr std::uint64_t bulk_bytes = std::uint64_t{1} << 30;

// 1 GiB of addresses that map the same 8 MiB again and again, so that the speed of memory does not affect the figure.
class Gibibyte {
  public:
    Gibibyte() {
        const auto all = memory_.all();
        const std::vector<na::Segment> segments(bulk_bytes / all.size(), {all.data(), all.size()});
        region_ = bulk::Region::expose(segments, na::Access::read_write).value();
    }
    [[nodiscard]] const bulk::Region& region() const noexcept { return region_; }

  private:
    Buffers memory_{8, mebibyte};
    bulk::Region region_;
};

void serve(PartnerSide& side) {
    RpcEndpoint endpoint{true, rpc::Options{}};
    endpoint.serve_echo();
    const Gibibyte memory;
    const LentRegion lent{endpoint.engine().transports().front(), memory.region()};
    side.announce(endpoint.address() + ' ' + lent.word());
    endpoint.serve_slices(side, no_wait);
}

class Pair {
  public:
    Pair(Cores cores, Direction direction, std::size_t payload_bytes)
        : partner_(cores.server, serve), direction_(direction), payload_bytes_(payload_bytes) {
        std::istringstream words{partner_.announced()};
        std::string address;
        std::string descriptor;
        words >> address >> descriptor;
        peer_ = na::Addr::parse(address).value();
        lent_ = std::make_unique<BorrowedRegion>(descriptor);
    }

    Slice run_slice(bool loaded, std::chrono::milliseconds duration) {
        std::vector<double> trips;
        auto slice = measure(partner_, [&] {
            if (loaded) start_bulk();
            const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
            while (loaded ? bulk_busy_ : seconds_now() < end) trips.push_back(round_trip());
            return 1.0;
        });
        if (trips.empty()) throw std::runtime_error{"no call came back while the bulk transfer ran"};
        slice.seconds = median(std::move(trips));
        return slice;
    }

  private:
    void start_bulk() {
        bulk::TransferArgs args;
        args.direction = direction_ == Direction::to_client ? bulk::Direction::pull : bulk::Direction::push;
        args.remote = &lent_->remote();
        args.local = memory_.region();
        args.bytes = bulk_bytes;
        args.peer = peer_;
        Errc why = Errc::ok;
        bulk_busy_ = true;
        const auto* started =
            endpoint_.context().mover().start(args, &bulk_done, this, bulk::Deliver::queued, nullptr, why);
        if (started == nullptr) throw std::runtime_error{"bulk: " + std::string{to_string(why)}};
    }
    static void bulk_done(bulk::Transfer& transfer, void* user) noexcept {
        auto& self = *static_cast<Pair*>(user);
        self.bulk_busy_ = false;
        if (transfer.result() != Errc::ok) self.failure_ = transfer.result();
        self.endpoint_.context().mover().release(transfer);
    }

    double round_trip() {
        auto& context = endpoint_.context();
        auto* call = context.make_call(peer_, failure_);
        if (call != nullptr) {
            call->args.rpc = echo_id;
            call->args.deadline = context.deadline_in(call_time);
            std::memset(call->input_room().data(), 0x5a, payload_bytes_);
            call_busy_ = true;
            const auto begin = seconds_now();
            failure_ = call->forward(payload_bytes_, &call_done, this);
            while (failure_ == Errc::ok && call_busy_) {
                context.progress(no_wait);
                context.trigger(64);
            }
            if (failure_ == Errc::ok) return seconds_now() - begin;
        }
        throw std::runtime_error{"a call or the bulk transfer ended with " + std::string{to_string(failure_)}};
    }
    static void call_done(rpc::Call& call, void* user) noexcept {
        auto& self = *static_cast<Pair*>(user);
        self.call_busy_ = false;
        if (call.result() != Errc::ok) self.failure_ = call.result();
        call.release();
    }

    Partner partner_;
    Direction direction_;
    std::size_t payload_bytes_;
    RpcEndpoint endpoint_{false, rpc::Options{}};
    Gibibyte memory_;
    na::Addr peer_;
    std::unique_ptr<BorrowedRegion> lent_;
    bool bulk_busy_ = false;
    bool call_busy_ = false;
    Errc failure_ = Errc::ok;
};

class Side : public Subject {
  public:
    Side(std::shared_ptr<Pair> pair, bool loaded) : pair_(std::move(pair)), loaded_(loaded) {}
    Slice run_slice(std::chrono::milliseconds duration) override { return pair_->run_slice(loaded_, duration); }

  private:
    std::shared_ptr<Pair> pair_;
    bool loaded_;
};

}  // namespace

LoadedAndIdle make_rtt_under_bulk(Cores cores, Direction direction, std::size_t payload_bytes) {
    const auto pair = std::make_shared<Pair>(cores, direction, payload_bytes);
    return {std::make_unique<Side>(pair, true), std::make_unique<Side>(pair, false)};
}

}  // namespace cinnabar::bench
