// SPDX-License-Identifier: BSD-3-Clause
#include "lent.hpp"

#include "../harness/hex.hpp"

#include <array>
#include <stdexcept>

namespace cinnabar::bench {
LentRegion::LentRegion(std::shared_ptr<na::Transport> transport, const bulk::Region& region)
    : transport_(std::move(transport)) {
    lease_.memory = region.memory_on(transport_).value();
    lease_.offset = region.offset();
    lease_.bytes = region.bytes();
    lease_.access = na::Access::read_write;
    if (transport_->grant(lease_) != Errc::ok) throw std::runtime_error{"grant failed"};
}

LentRegion::~LentRegion() { (void)transport_->revoke(lease_); }

std::string LentRegion::word() const {
    const std::array<na::Lease*, 1> granted{&lease_};
    const bulk::Description description{granted, {}, {}};
    std::vector<std::byte> bytes(bulk::described_bytes(description));
    ByteWriter writer{bytes};
    bulk::describe(description, writer);
    return to_hex(writer.written());
}

BorrowedRegion::BorrowedRegion(const std::string& word) : descriptor_(from_hex(word)) {
    ByteReader reader{descriptor_};
    if (bulk::RemoteRegion::decode(reader, remote_) != Errc::ok) throw std::runtime_error{"descriptor"};
}

}  // namespace cinnabar::bench
