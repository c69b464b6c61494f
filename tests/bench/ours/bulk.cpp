// SPDX-License-Identifier: BSD-3-Clause
#include "../harness/buffers.hpp"
#include "endpoint.hpp"
#include "lent.hpp"
#include "ours.hpp"

#include <cinnabar/bulk/transfer.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds no_wait{0};
constexpr Microseconds some_wait{20'000};  // then a server checks whether the slice is over

// The memory of one process: a region per slot. There are gaps between the segments, so that none can be joined.
class Regions {
  public:
    Regions(const BulkShape& shape, const std::shared_ptr<na::Transport>& transport) {
        if (shape.allocated) {
            const auto all =
                bulk::Region::allocate(shape.in_flight * shape.buffer_bytes, na::Access::read_write, transport).value();
            std::memset(all.contiguous().data(), 0x5a, all.contiguous().size());
            for (std::size_t slot = 0; slot < shape.in_flight; ++slot) {
                regions_.push_back(all.slice(slot * shape.buffer_bytes, shape.buffer_bytes));
            }
            return;
        }
        memory_.emplace(shape.in_flight, shape.buffer_bytes * (shape.segments > 1 ? 2 : 1));
        const auto segment_bytes = shape.buffer_bytes / shape.segments;
        for (std::size_t slot = 0; slot < shape.in_flight; ++slot) {
            std::vector<na::Segment> segments;
            for (std::size_t i = 0; i < shape.segments; ++i) {
                segments.push_back({memory_->at(slot) + 2 * i * segment_bytes, segment_bytes});
            }
            regions_.push_back(bulk::Region::expose(segments, na::Access::read_write).value());
        }
    }
    [[nodiscard]] const bulk::Region& at(std::size_t slot) const { return regions_[slot]; }

  private:
    std::optional<Buffers> memory_;
    std::vector<bulk::Region> regions_;
};

// If a device moves the bytes, both sides wait for it as users do: they spin for a while, then sleep. These devices are
// software, which works on the core of a thread that would spin.
Microseconds wait_on(Wire wire) { return wire == Wire::verbs_rxe || wire == Wire::verbs_siw ? some_wait : no_wait; }

// Announces the address and one descriptor per region, then only makes progress.
void serve(PartnerSide& side, const BulkShape& shape) {
    Endpoint endpoint{shape.wire, true};
    const Regions regions{shape, endpoint.transport()};
    std::vector<std::unique_ptr<LentRegion>> lent;
    std::string line = endpoint.address();
    for (std::size_t slot = 0; slot < shape.in_flight; ++slot) {
        lent.push_back(std::make_unique<LentRegion>(endpoint.transport(), regions.at(slot)));
        line += ' ' + lent.back()->word();
    }
    side.announce(line);
    while (side.wait_slice()) {
        while (side.running()) endpoint.context().progress(wait_on(shape.wire));
        side.end_slice();
    }
}

class OurBulk : public Subject {
  public:
    OurBulk(Cores cores, const BulkShape& shape)
        : shape_(shape),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, shape); }),
          regions_(shape, endpoint_.transport()),
          slots_(shape.in_flight) {
        std::istringstream words{partner_.announced()};
        std::string word;
        words >> word;
        peer_ = na::Addr::parse(word).value();
        for (std::size_t i = 0; i < shape.in_flight; ++i) {
            auto& slot = slots_[i];
            words >> word;
            slot.lent = std::make_unique<BorrowedRegion>(word);
            slot.owner = this;
            slot.index = i;
        }
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] {
            moved_ = 0;
            more_ = true;
            for (auto& slot : slots_) start(slot);
            const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
            while (busy_ > 0) {
                endpoint_.context().progress(wait_on(shape_.wire));
                endpoint_.context().trigger(64);
                if (more_ && seconds_now() >= end) more_ = false;
            }
            if (failure_ != Errc::ok)
                throw std::runtime_error{"a transfer ended with " + std::string{to_string(failure_)}};
            return static_cast<double>(moved_);
        });
    }

  private:
    struct Slot {
        OurBulk* owner = nullptr;
        std::size_t index = 0;
        std::unique_ptr<BorrowedRegion> lent;
    };

    void start(Slot& slot) {
        bulk::TransferArgs args;
        args.direction = shape_.direction == Direction::to_client ? bulk::Direction::pull : bulk::Direction::push;
        args.remote = &slot.lent->remote();
        args.local = regions_.at(slot.index);
        args.bytes = shape_.buffer_bytes;
        args.peer = peer_;
        if (mover_.start(args, &done, &slot, bulk::Deliver::queued, nullptr, failure_) != nullptr) ++busy_;
    }
    static void done(bulk::Transfer& transfer, void* user) noexcept {
        auto& slot = *static_cast<Slot*>(user);
        auto& self = *slot.owner;
        --self.busy_;
        if (transfer.result() == Errc::ok) {
            self.moved_ += self.shape_.buffer_bytes;
        } else {
            self.failure_ = transfer.result();
            self.more_ = false;
        }
        self.mover_.release(transfer);
        if (self.more_) self.start(slot);
    }

    BulkShape shape_;
    Partner partner_;
    Endpoint endpoint_{shape_.wire, false};
    Regions regions_;
    std::vector<Slot> slots_;
    na::Addr peer_;
    bulk::Mover mover_{endpoint_.context(), {endpoint_.transport()}, bulk::MoverOptions{}};
    std::uint64_t moved_ = 0;
    unsigned busy_ = 0;
    bool more_ = false;
    Errc failure_ = Errc::ok;
};

}  // namespace

std::unique_ptr<Subject> make_our_bulk(Cores cores, const BulkShape& shape) {
    return std::make_unique<OurBulk>(cores, shape);
}

}  // namespace cinnabar::bench
