// SPDX-License-Identifier: BSD-3-Clause
// Memory of a peer, as its descriptor tells: what may be pulled from or pushed to. The wire form is in
// docs/wire-format.md, "Bulk descriptors"; decoding is bounded and treats the bytes as hostile. Values; any thread.
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

// Limits of a descriptor: a decoder refuses more.
inline constexpr std::size_t descriptor_transports_max = 8;
inline constexpr std::size_t descriptor_segments_max = 65'536;
inline constexpr std::size_t descriptor_bytes_max = 4 * 1024 * 1024;

// A decoded descriptor. It borrows the bytes that it was decoded from; own() makes it, and copies made of it later,
// stand alone.
class CINNABAR_API RemoteRegion {
  public:
    RemoteRegion() = default;

    // protocol: malformed, or absurd counts. Takes exactly the descriptor from the reader.
    [[nodiscard]] static Errc decode(Reader& reader, RemoteRegion& out) noexcept;
    // Copies what is borrowed into memory of its own. out_of_memory.
    [[nodiscard]] Errc own() noexcept;

    [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] na::Access access() const noexcept { return access_; }
    // The bytes themselves, when they came along; empty otherwise. A pull is then a copy.
    [[nodiscard]] ConstBytes eager() const noexcept { return eager_; }
    // Who holds the memory; empty when the descriptor is not bound: then it is whoever sent it.
    [[nodiscard]] const na::Addr& owner() const noexcept { return owner_; }
    // Where others reach its sender, if it is not bound and says so: for forward(). Encoded as an address, unchecked.
    [[nodiscard]] ConstBytes home() const noexcept { return home_; }
    // The key for a transport of that scheme; empty when it was not lent there.
    [[nodiscard]] ConstBytes key_for(std::string_view scheme) const noexcept;
    // Sizes of the segments, where a transport needs them; 0 when it does not.
    [[nodiscard]] std::size_t segment_count() const noexcept { return segment_count_; }
    [[nodiscard]] std::uint64_t segment_bytes(std::size_t index) const noexcept;

  private:
    ConstBytes encoded_;
    ConstBytes keys_;      // within encoded_, as the two below
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
    friend Errc forward(const RemoteRegion& remote, Writer& writer) noexcept;
};

// What goes into a descriptor, on the side of the owner.
struct Description {
    std::span<na::Lease* const> leases;  // granted, of equal ranges, on transports of different schemes
    na::Addr owner;                      // empty: not bound
    ConstBytes eager;                    // empty: not along; else all bytes of the range. Then leases may be missing
    ConstBytes home = {};                // an encoded address, where others reach the owner; empty: nowhere, or bound
};

[[nodiscard]] CINNABAR_API std::size_t described_bytes(const Description& description) noexcept;
// Fails the writer when it does not fit, or when the range has more segments than a descriptor may tell (which only
// transports without Caps::offset_addressing need).
CINNABAR_API void describe(const Description& description, Writer& writer) noexcept;

// Hands a descriptor of somebody else's memory on: writes it bound to its owner, for a third party to follow. Bytes
// that came along go along. 0, and unreachable: they did not, and nobody knows where the owner is. protocol:
// its sender named no address. too_large: the writer is full.
[[nodiscard]] CINNABAR_API std::size_t forwarded_bytes(const RemoteRegion& remote) noexcept;
[[nodiscard]] CINNABAR_API Errc forward(const RemoteRegion& remote, Writer& writer) noexcept;

}  // namespace cinnabar::bulk
