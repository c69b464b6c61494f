// SPDX-License-Identifier: BSD-3-Clause
// RemoteBytes: a token for memory that a node shares (share.hpp). A token is a plain value that travels in calls. The
// typed forms of RemoteBytes are RemoteSpan and Remote (remote.hpp).
//
// The owner seals what it grants: the window, the access, the lease and, if the token names one, the version of the
// contents. Anyone who has the token may use it and pass it on; a token for a part of the memory has the same seal. The
// owner trusts only what is sealed.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/types.hpp>
#include <cinnabar/rpc/proc_addr.hpp>
#include <cinnabar/rpc/proc_codec.hpp>
#include <cinnabar/rpc/request.hpp>

#include <cstdint>
#include <utility>

namespace cinnabar::hl {

// Set in RemoteGrant::access if the memory is far (bulk/far_memory.hpp), so that its user asks for bulk transfers.
inline constexpr std::uint8_t remote_far_bit = 4;

// Set there if processes of the owner's host may access the memory by themselves (direct_span.hpp).
inline constexpr std::uint8_t remote_direct_bit = 8;

// The sealed part. The owner chose all values.
struct RemoteGrant {
    std::uint64_t node = 0;     // random, chosen when the node was opened; 0: no grant
    std::uint64_t version = 0;  // of the contents; 0: any version
    std::uint64_t first = 0;    // start of the window in the shared memory
    std::uint64_t bytes = 0;
    std::uint32_t slot = 0;
    std::uint32_t lease = 0;               // generation of the slot
    na::Access access = na::Access::read;  // and remote_far_bit, remote_direct_bit
    std::uint64_t seal = 0;

    friend bool operator==(const RemoteGrant&, const RemoteGrant&) = default;
};

class RemoteBytes {
  public:
    static constexpr std::uint64_t proc_shape = 0x656b6f74;
    static constexpr bool proc_borrows = false;

    RemoteBytes() = default;
    RemoteBytes(const RemoteGrant& grant, na::Addr owner) noexcept
        : grant_(grant), owner_(std::move(owner)), bytes_(grant.bytes) {}

    [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept {
        constexpr auto all = static_cast<std::uint8_t>(na::Access::read_write);
        return static_cast<na::Access>(static_cast<std::uint8_t>(grant_.access) & all);
    }
    // Whether the token names a file or device memory, which only spans, lists and plans read and write.
    [[nodiscard]] bool is_far() const noexcept {
        return (static_cast<std::uint8_t>(grant_.access) & remote_far_bit) != 0;
    }
    // Whether processes of the owner's host may access the memory without its owner (map_remote).
    [[nodiscard]] bool is_direct() const noexcept {
        return (static_cast<std::uint8_t>(grant_.access) & remote_direct_bit) != 0;
    }
    // Whether the token names a version of the contents, so that it becomes stale when they are renewed.
    [[nodiscard]] bool names_version() const noexcept { return grant_.version != 0; }
    // Where the owner listens; empty if it does not listen.
    [[nodiscard]] const na::Addr& owner() const noexcept { return owner_; }

    // Returns a token for these bytes only. The seal still covers the whole grant, so anyone who gets this token can
    // use the whole grant. Requires: the bytes lie inside the bytes of this token.
    [[nodiscard]] RemoteBytes part(std::uint64_t offset, std::uint64_t bytes) const {
        CINNABAR_ASSERT(offset <= bytes_ && bytes <= bytes_ - offset);
        RemoteBytes token(*this);
        token.offset_ += offset;
        token.bytes_ = bytes;
        return token;
    }
    // Returns the same token, but operations with it call `peer` instead of the owner that the token names. For a token
    // from the result of a call, if the caller knows a better address of the owner, or does not want any other peer to
    // be called.
    [[nodiscard]] RemoteBytes at(na::Addr peer) const {
        RemoteBytes token(*this);
        token.owner_ = std::move(peer);
        token.came_from_ = {};
        return token;
    }

    // --- for operations
    [[nodiscard]] const RemoteGrant& grant() const noexcept { return grant_; }
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }  // in the grant's window
    // The address to call. For a token received in a request this is the sender, unless the owner is to be followed.
    [[nodiscard]] const na::Addr& target(bool follow_owner) const noexcept {
        return came_from_.empty() || (follow_owner && !owner_.empty()) ? owner_ : came_from_;
    }
    // Whether the token was received in a request and names an owner. The owner need not be the sender, so operations
    // call the owner only with follow_owner.
    [[nodiscard]] bool may_be_of_third_party() const noexcept { return !came_from_.empty() && !owner_.empty(); }

    template <class P>
    void proc(P& p) {
        p(grant_, owner_, offset_, bytes_);
        if constexpr (P::decoding) {
            const auto* request = static_cast<const rpc::Request*>(p.user());
            came_from_ = request ? request->source() : na::Addr();
            if (offset_ > grant_.bytes || bytes_ > grant_.bytes - offset_) p.fail(Errc::protocol);
        } else if (owner_.empty() && !came_from_.empty()) {
            p.fail(Errc::unreachable);  // its owner does not listen, so nobody else can use it
        }
    }

  private:
    RemoteGrant grant_;
    na::Addr owner_;
    na::Addr came_from_;  // the sender, if it came in a request; not encoded
    std::uint64_t offset_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace cinnabar::hl
