// SPDX-License-Identifier: BSD-3-Clause
#include "../harness/buffers.hpp"
#include "endpoint.hpp"
#include "ours.hpp"

#include <cinnabar/bulk/transfer.hpp>

#include <array>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds no_wait{0};

std::string to_hex(ConstBytes bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const auto byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text += {digits[value >> 4], digits[value & 15]};
    }
    return text;
}

std::vector<std::byte> from_hex(const std::string& text) {
    std::vector<std::byte> bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    }
    return bytes;
}

// The memory of one process: a region for each slot. Segments are a gap apart, so that none can be joined.
class Regions {
  public:
    explicit Regions(const BulkShape& shape)
        : memory_(shape.in_flight, shape.buffer_bytes * (shape.segments > 1 ? 2 : 1)) {
        const auto segment_bytes = shape.buffer_bytes / shape.segments;
        for (std::size_t slot = 0; slot < shape.in_flight; ++slot) {
            std::vector<na::Segment> segments;
            for (std::size_t i = 0; i < shape.segments; ++i) {
                segments.push_back({memory_.at(slot) + 2 * i * segment_bytes, segment_bytes});
            }
            regions_.push_back(bulk::Region::expose(segments, na::Access::read_write).value());
        }
    }
    [[nodiscard]] const bulk::Region& at(std::size_t slot) const { return regions_[slot]; }

  private:
    Buffers memory_;
    std::vector<bulk::Region> regions_;
};

// Announces its address and one descriptor a region, then only makes progress.
void serve(PartnerSide& side, const BulkShape& shape) {
    Endpoint endpoint{true};
    const Regions regions{shape};
    std::vector<na::Lease> leases(shape.in_flight);
    std::string line = endpoint.address();
    for (std::size_t slot = 0; slot < shape.in_flight; ++slot) {
        auto& lease = leases[slot];
        lease.memory = regions.at(slot).memory_on(endpoint.transport()).value();
        lease.bytes = shape.buffer_bytes;
        lease.access = na::Access::read_write;
        if (endpoint.transport()->grant(lease) != Errc::ok) throw std::runtime_error{"grant failed"};
        const std::array<na::Lease*, 1> granted{&lease};
        const bulk::Description description{granted, {}, {}};
        std::vector<std::byte> bytes(bulk::described_bytes(description));
        Writer writer{bytes};
        bulk::describe(description, writer);
        line += ' ';
        line += to_hex(writer.written());
    }
    side.announce(line);
    while (side.wait_slice()) {
        while (side.running()) endpoint.context().progress(no_wait);
        side.end_slice();
    }
    for (auto& lease : leases) (void)endpoint.transport()->revoke(lease);
}

class OurBulk : public Subject {
  public:
    OurBulk(Cores cores, const BulkShape& shape)
        : shape_(shape),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, shape); }),
          regions_(shape),
          slots_(shape.in_flight) {
        std::istringstream words{partner_.announced()};
        std::string word;
        words >> word;
        peer_ = na::Addr::parse(word).value();
        for (std::size_t i = 0; i < shape.in_flight; ++i) {
            auto& slot = slots_[i];
            words >> word;
            slot.descriptor = from_hex(word);
            Reader reader{slot.descriptor};
            if (bulk::RemoteRegion::decode(reader, slot.remote) != Errc::ok) throw std::runtime_error{"descriptor"};
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
                endpoint_.context().progress(no_wait);
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
        std::vector<std::byte> descriptor;
        bulk::RemoteRegion remote;
    };

    void start(Slot& slot) {
        bulk::TransferArgs args;
        args.direction = shape_.direction == Direction::to_client ? bulk::Direction::pull : bulk::Direction::push;
        args.remote = &slot.remote;
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
    Endpoint endpoint_{false};
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
