// SPDX-License-Identifier: BSD-3-Clause
// Bulk memory as a member of an argument. The origin stores a region in the member, and the region is lent to the
// target for the duration of the call. The target reads a descriptor from the member, and pulls from or pushes to the
// memory by that descriptor. Where the transport can tell peers apart (na::Caps::confines), the descriptor is useless
// to others, unless the origin made the memory forwardable. If so, the target may put the descriptor into a call to a
// third party, which transfers the bytes directly from or to the owner, if it sets TransferArgs::follow_owner.
// Forwarding fails with `unreachable` if the memory is not forwardable, or if the owner does not listen on the
// transport on which the memory is lent.
//
// Encoding: a u32, the size of the descriptor, then the descriptor (docs/wire-format.md, "Bulk descriptors"); size 0:
// no memory. The coder's user() is the rpc::Call when encoding, and the rpc::Request when decoding.
#pragma once

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/rpc/call.hpp>
#include <cinnabar/rpc/guests.hpp>
#include <cinnabar/rpc/proc_coder.hpp>
#include <cinnabar/rpc/request.hpp>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::rpc {

class Bulk {
  public:
    static constexpr std::uint64_t proc_shape = 0x6b6c7562;  // part of the shape of types that contain a Bulk
    static constexpr bool proc_borrows = true;               // when decoded, points into the message

    Bulk() = default;
    // At the origin. The target may access the memory as the region allows, or only as `access` says.
    Bulk(bulk::Region region) : region_(std::move(region)) {
        if (region_) access_ = region_.access();
    }
    Bulk(bulk::Region region, na::Access access) : region_(std::move(region)), access_(access) {}
    // At the origin. Lets any holder of the descriptor use the memory, for as long as it is lent.
    void set_forwardable() noexcept { audience_ = Audience::anyone; }
    // At the origin. Lets only the target and these third parties use the memory, for as long as it is lent.
    void set_guests(std::shared_ptr<const Guests> guests) noexcept {
        audience_ = Audience::guests;
        guests_ = std::move(guests);
    }

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::uint64_t size() const noexcept { return region_ ? region_.bytes() : remote_.bytes(); }
    [[nodiscard]] na::Access access() const noexcept { return region_ ? access_ : remote_.access(); }
    // Origin.
    [[nodiscard]] const bulk::Region& region() const noexcept { return region_; }
    // At the target; valid as long as the request's input.
    [[nodiscard]] const bulk::RemoteRegion& remote() const noexcept { return remote_; }
    // At the target, the request that the memory came with; null at the origin.
    [[nodiscard]] Request* request() const noexcept { return request_; }

    template <class P>
    void proc(P& p) {
        if constexpr (P::decoding)
            read(p);
        else
            write(p);
    }

  private:
    static constexpr std::size_t small_descriptor_bytes = 4096;

    [[nodiscard]] std::size_t encoded_bytes(const Call& call) const noexcept {
        return region_ ? call.lend_bytes(region_, access_, audience_) : bulk::forwarded_bytes(remote_);
    }
    void write(Sizer& out) const noexcept {
        out.raw(nullptr, sizeof(std::uint32_t));
        if (empty()) return;
        const auto* call = static_cast<const Call*>(out.user());
        if (!call) return out.fail(Errc::invalid_argument);
        out.raw(nullptr, encoded_bytes(*call));
    }
    void write(Encoder& out) const {
        if (empty()) return out.count(0);
        auto* call = static_cast<Call*>(out.user());
        if (!call) return out.fail(Errc::invalid_argument);
        std::array<std::byte, small_descriptor_bytes> small;
        std::vector<std::byte> large;
        const std::size_t bytes = encoded_bytes(*call);
        if (bytes > small.size()) large.resize(bytes);
        ByteWriter writer(large.empty() ? Bytes(small) : Bytes(large));
        const Errc refused =
            region_ ? call->lend(region_, access_, writer, audience_, guests_) : call->forward_memory(remote_, writer);
        if (refused != Errc::ok) return out.fail(refused);
        out.count(writer.size());
        out.raw(writer.written().data(), writer.size());
    }
    void read(Decoder& in) noexcept {
        const ConstBytes encoded = in.view(in.count(1, 0));
        region_ = {};
        remote_ = {};
        request_ = static_cast<Request*>(in.user());
        if (encoded.empty()) return;
        ByteReader reader(encoded);
        const Errc bad = bulk::RemoteRegion::decode(reader, remote_);
        if (bad != Errc::ok || reader.left() != 0) in.fail(bad == Errc::out_of_memory ? bad : Errc::protocol);
    }

    bulk::Region region_;
    bulk::RemoteRegion remote_;
    Request* request_ = nullptr;
    na::Access access_ = na::Access::read;
    Audience audience_ = Audience::target;
    std::shared_ptr<const na::Guests> guests_;
};

}  // namespace cinnabar::rpc
