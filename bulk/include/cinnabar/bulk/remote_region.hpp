// SPDX-License-Identifier: BSD-3-Clause
// RemoteRegion: a decoded bulk descriptor, which names memory of a peer to pull from or push to. The encoding is in
// docs/wire-format-bulk.md. The decoder trusts nothing: every count and length is checked. Plain values.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/memory.hpp>
#include <cinnabar/na/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cinnabar::bulk {

// Limits of a descriptor; the decoder refuses more.
inline constexpr std::size_t descriptor_transports_max = 8;
inline constexpr std::size_t descriptor_segments_max = 65'536;
inline constexpr std::size_t descriptor_bytes_max = 4 * 1024 * 1024;

// A decoded descriptor. A RemoteRegion points into the bytes from which it was decoded, until own() copies these bytes;
// copies made after own() share the copied bytes.
class CINNABAR_API RemoteRegion {
  public:
    RemoteRegion() = default;

    // Reads exactly one descriptor from the reader. protocol: malformed, or over a limit.
    [[nodiscard]] static Errc decode(ByteReader& reader, RemoteRegion& out) noexcept;
    // Copies the encoded bytes, so that the source may be freed. out_of_memory.
    [[nodiscard]] Errc own() noexcept;

    [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept { return access_; }
    // The contents of the memory if the descriptor carries them, so that a pull is only a copy; otherwise empty.
    [[nodiscard]] ConstBytes eager() const noexcept { return eager_; }
    // The address of the owner of the memory. Empty if the descriptor is not bound to an owner: then the owner is the
    // sender of the descriptor.
    [[nodiscard]] const na::Addr& owner() const noexcept { return owner_; }
    // The address at which others reach the sender, if the descriptor is not bound and carries such an address; used by
    // forward(). Encoded, and not checked yet.
    [[nodiscard]] ConstBytes home() const noexcept { return home_; }
    // The registration key for the transport with that scheme; empty if the memory was not lent over that transport.
    [[nodiscard]] ConstBytes key_for(std::string_view scheme) const noexcept;
    // The number of segments, if a transport needs their sizes; otherwise 0.
    [[nodiscard]] std::size_t segment_count() const noexcept { return segment_count_; }
    [[nodiscard]] std::uint64_t segment_bytes(std::size_t index) const noexcept;

  private:
    ConstBytes encoded_;
    ConstBytes keys_;      // these and the next two point into encoded_
    ConstBytes segments_;  // lengths
    ConstBytes eager_;
    ConstBytes home_;
    na::Addr owner_;
    std::uint64_t bytes_ = 0;
    std::size_t segment_count_ = 0;
    std::uint8_t key_count_ = 0;
    na::Access access_ = na::Access::read;
    std::shared_ptr<const std::byte[]> owned_;  // shared by copies

    friend std::size_t forwarded_bytes(const RemoteRegion& remote) noexcept;
    friend Errc forward(const RemoteRegion& remote, ByteWriter& writer) noexcept;
};

// The contents of a descriptor, as the owner of the memory encodes it.
struct Description {
    std::span<na::Lease* const> leases;  // granted, for the same range, on transports of different schemes
    na::Addr owner;                      // empty: not bound
    ConstBytes eager;                    // the contents of the whole range, which make leases optional; or empty
    ConstBytes home = {};                // encoded address at which others reach the owner; empty: none, or bound
};

[[nodiscard]] CINNABAR_API std::size_t described_bytes(const Description& description) noexcept;
// Encodes a descriptor. Fails the writer if the descriptor does not fit, or if the range has more than
// descriptor_segments_max segments and a transport needs the sizes of segments (it lacks Caps::offset_addressing).
CINNABAR_API void describe(const Description& description, ByteWriter& writer) noexcept;

// forward encodes a received descriptor for a third party: the new descriptor is bound to the owner of the memory, to
// which the third party connects. Contents that the descriptor carries are passed on. forwarded_bytes returns the size
// of the new descriptor. If the address of the owner is unknown, forwarded_bytes is 0, and forward fails with
// unreachable, unless the descriptor carries contents and grants only reading. protocol: the sender's `home` is not a
// valid address. too_large: the writer is full.
[[nodiscard]] CINNABAR_API std::size_t forwarded_bytes(const RemoteRegion& remote) noexcept;
[[nodiscard]] CINNABAR_API Errc forward(const RemoteRegion& remote, ByteWriter& writer) noexcept;

}  // namespace cinnabar::bulk
