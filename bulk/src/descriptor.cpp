// SPDX-License-Identifier: BSD-3-Clause
// Encoding of descriptors. Keep docs/wire-format-bulk.md in sync.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace cinnabar::bulk {
namespace {

constexpr std::uint8_t format_version = 1;
constexpr std::uint8_t flag_bound = 1;
constexpr std::uint8_t flag_segments = 2;
constexpr std::uint8_t flag_eager = 4;
constexpr std::uint8_t flag_home = 8;
constexpr std::uint8_t flags_known = 15;

// {u8 version, u8 flags, u8 access, u8 keys, u64 bytes}
constexpr std::size_t head_bytes = 12;
constexpr std::size_t scheme_bytes_max = 31;
constexpr std::size_t length_bytes = 8;

struct Key {
    std::string_view scheme;
    ConstBytes bytes;
};

Key read_key(ByteReader& reader) noexcept {
    Key key;
    key.scheme = as_text(reader.view(reader.u8()));
    key.bytes = reader.view(reader.u32());
    return key;
}

bool is_scheme(std::string_view scheme) noexcept {
    return !scheme.empty() && scheme.size() <= scheme_bytes_max &&
           std::all_of(scheme.begin(), scheme.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' ||
                      c == ';' || c == '_';
           });
}

// False if a key is malformed, or two keys are for the same transport.
bool skip_keys(ByteReader& reader, unsigned count) noexcept {
    std::string_view seen[descriptor_transports_max];
    for (unsigned i = 0; i < count; ++i) {
        const Key key = read_key(reader);
        if (!reader.ok() || !is_scheme(key.scheme) || key.bytes.empty()) return false;
        if (std::find(seen, seen + i, key.scheme) != seen + i) return false;
        seen[i] = key.scheme;
    }
    return true;
}

std::uint64_t length_at(ConstBytes lengths, std::size_t index) noexcept {
    std::uint64_t length = 0;
    std::memcpy(&length, lengths.data() + index * length_bytes, length_bytes);
    return length;
}

// Whether no length is 0 and they add up to `bytes`.
bool lengths_fit(ConstBytes lengths, std::uint64_t bytes) noexcept {
    std::uint64_t left = bytes;
    for (std::size_t i = 0; i < lengths.size() / length_bytes; ++i) {
        const std::uint64_t length = length_at(lengths, i);
        if (length == 0 || length > left) return false;
        left -= length;
    }
    return left == 0;
}

ConstBytes moved(ConstBytes view, const std::byte* from, const std::byte* to) noexcept {
    return view.empty() ? ConstBytes() : ConstBytes(to + (view.data() - from), view.size());
}

// The segments that a lease touches.
struct SegmentRange {
    std::size_t first = 0;
    std::size_t count = 0;
};

SegmentRange segments_of(const na::Lease& lease) noexcept {
    if (lease.bytes == 0) return {};
    SegmentRange range;
    range.first = lease.memory->segment_at(lease.offset);
    range.count = lease.memory->segment_at(lease.offset + lease.bytes - 1) - range.first + 1;
    return range;
}

bool schemes_differ(std::span<na::Lease* const> leases) noexcept {
    for (std::size_t i = 0; i < leases.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (leases[i]->memory->transport().scheme() == leases[k]->memory->transport().scheme()) return false;
        }
    }
    return true;
}

// The lease whose segments must be encoded; null if no transport needs them.
const na::Lease* told_segments(const Description& description) noexcept {
    for (const na::Lease* lease : description.leases) {
        if (!lease->memory->transport().caps().offset_addressing && segments_of(*lease).count > 1) return lease;
    }
    return nullptr;
}

void write_segments(const na::Lease& lease, ByteWriter& writer) noexcept {
    const SegmentRange range = segments_of(lease);
    if (range.count > descriptor_segments_max) return writer.fail();
    writer.u32(static_cast<std::uint32_t>(range.count));
    const std::uint64_t end = lease.offset + lease.bytes;
    std::uint64_t at = lease.offset;
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
        const std::uint64_t segment_end = lease.memory->segment_offset(i) + lease.memory->segments()[i].bytes;
        const std::uint64_t next = std::min(segment_end, end);
        writer.u64(next - at);
        at = next;
    }
}

void write_key(const na::Lease& lease, ByteWriter& writer) noexcept {
    const na::Transport& transport = lease.memory->transport();
    const std::string_view scheme = transport.scheme();
    CINNABAR_ASSERT(is_scheme(scheme) && lease.granted());
    writer.u8(static_cast<std::uint8_t>(scheme.size()));
    writer.bytes(as_bytes(scheme));
    writer.u32(static_cast<std::uint32_t>(transport.described_bytes(lease)));
    const std::size_t before = writer.size();
    transport.describe(lease, writer);
    CINNABAR_ASSERT(!writer.ok() || writer.size() - before == transport.described_bytes(lease));
}

}  // namespace

Errc RemoteRegion::decode(ByteReader& reader, RemoteRegion& out) noexcept {
    out = RemoteRegion();
    RemoteRegion made;
    const std::size_t left_before = reader.left();
    const std::byte* const begin = reader.view(0).data();
    const std::uint8_t version = reader.u8();
    const std::uint8_t flags = reader.u8();
    const std::uint8_t access = reader.u8();
    const std::uint8_t keys = reader.u8();
    made.bytes_ = reader.u64();
    constexpr std::uint8_t bound_and_home = flag_bound | flag_home;
    if (!reader.ok() || version != format_version || (flags & ~flags_known) != 0 ||
        (flags & bound_and_home) == bound_and_home || access < 1 || access > 3 || keys > descriptor_transports_max ||
        made.bytes_ > std::numeric_limits<std::int64_t>::max()) {
        return Errc::protocol;
    }
    made.access_ = static_cast<na::Access>(access);
    made.key_count_ = keys;

    const std::size_t left_at_keys = reader.left();
    const std::byte* const keys_begin = reader.view(0).data();
    if (!skip_keys(reader, keys)) return Errc::protocol;
    made.keys_ = {keys_begin, left_at_keys - reader.left()};

    if ((flags & flag_bound) != 0) {
        try {
            auto owner = na::Addr::decode(reader);
            if (!owner || owner->empty()) return Errc::protocol;
            made.owner_ = *std::move(owner);
        } catch (const std::bad_alloc&) {
            return Errc::out_of_memory;
        }
    }
    if ((flags & flag_home) != 0) {
        made.home_ = reader.view(reader.u16());
        if (!reader.ok() || made.home_.empty()) return Errc::protocol;
    }
    if ((flags & flag_segments) != 0) {
        made.segment_count_ = reader.u32();
        if (made.segment_count_ < 2 || made.segment_count_ > descriptor_segments_max) return Errc::protocol;
        made.segments_ = reader.view(made.segment_count_ * length_bytes);
        if (!reader.ok() || !lengths_fit(made.segments_, made.bytes_)) return Errc::protocol;
    }
    if ((flags & flag_eager) != 0) {
        if (made.bytes_ == 0 || made.bytes_ > descriptor_bytes_max || !allows(made.access_, na::Access::read)) {
            return Errc::protocol;
        }
        made.eager_ = reader.view(static_cast<std::size_t>(made.bytes_));
    }
    const std::size_t taken = left_before - reader.left();
    if (!reader.ok() || taken > descriptor_bytes_max) return Errc::protocol;
    made.encoded_ = {begin, taken};
    out = std::move(made);
    return Errc::ok;
}

Errc RemoteRegion::own() noexcept {
    if (encoded_.empty() || owned_) return Errc::ok;
    auto* copy = new (std::nothrow) std::byte[encoded_.size()];
    if (!copy) return Errc::out_of_memory;
    std::memcpy(copy, encoded_.data(), encoded_.size());
    try {
        owned_.reset(copy);  // reset frees `copy` if it throws
    } catch (const std::bad_alloc&) {
        return Errc::out_of_memory;
    }
    const std::byte* from = encoded_.data();
    keys_ = moved(keys_, from, copy);
    segments_ = moved(segments_, from, copy);
    eager_ = moved(eager_, from, copy);
    home_ = moved(home_, from, copy);
    encoded_ = moved(encoded_, from, copy);
    return Errc::ok;
}

ConstBytes RemoteRegion::key_for(std::string_view scheme) const noexcept {
    ByteReader reader(keys_);
    for (unsigned i = 0; i < key_count_; ++i) {
        const Key key = read_key(reader);
        if (key.scheme == scheme) return key.bytes;
    }
    return {};
}

std::uint64_t RemoteRegion::segment_bytes(std::size_t index) const noexcept {
    CINNABAR_ASSERT(index < segment_count_);
    return length_at(segments_, index);
}

std::size_t described_bytes(const Description& description) noexcept {
    std::size_t bytes = head_bytes + description.eager.size();
    for (const na::Lease* lease : description.leases) {
        const na::Transport& transport = lease->memory->transport();
        bytes += 1 + transport.scheme().size() + 4 + transport.described_bytes(*lease);
    }
    if (!description.owner.empty()) bytes += description.owner.encoded_bytes();
    if (!description.home.empty()) bytes += 2 + description.home.size();
    if (const na::Lease* lease = told_segments(description)) bytes += 4 + segments_of(*lease).count * length_bytes;
    return bytes;
}

void describe(const Description& description, ByteWriter& writer) noexcept {
    const auto& leases = description.leases;
    const ConstBytes eager = description.eager;
    CINNABAR_ASSERT(leases.size() <= descriptor_transports_max && schemes_differ(leases));
    const std::uint64_t bytes = leases.empty() ? eager.size() : leases.front()->bytes;
    const na::Access access = leases.empty() ? na::Access::read : leases.front()->access;
    for (const na::Lease* lease : leases) CINNABAR_ASSERT(lease->bytes == bytes && lease->access == access);
    CINNABAR_ASSERT(eager.empty() || (eager.size() == bytes && allows(access, na::Access::read)));
    CINNABAR_ASSERT(description.home.empty() || description.owner.empty());
    const na::Lease* told = told_segments(description);
    if (described_bytes(description) > std::min(writer.left(), descriptor_bytes_max)) return writer.fail();

    writer.u8(format_version);
    writer.u8(static_cast<std::uint8_t>((description.owner.empty() ? 0 : flag_bound) | (told ? flag_segments : 0) |
                                        (eager.empty() ? 0 : flag_eager) | (description.home.empty() ? 0 : flag_home)));
    writer.u8(static_cast<std::uint8_t>(access));
    writer.u8(static_cast<std::uint8_t>(leases.size()));
    writer.u64(bytes);
    for (const na::Lease* lease : leases) write_key(*lease, writer);
    if (!description.owner.empty()) description.owner.encode(writer);
    if (!description.home.empty()) {
        writer.u16(static_cast<std::uint16_t>(description.home.size()));
        writer.bytes(description.home);
    }
    if (told) write_segments(*told, writer);
    writer.bytes(eager);
}

std::size_t forwarded_bytes(const RemoteRegion& remote) noexcept {
    if (!remote.owner_.empty()) return remote.encoded_.size();
    if (!remote.home_.empty()) return remote.encoded_.size() - 2;  // without the u16 size of the address
    const bool eager_says_all = !remote.eager_.empty() && remote.access_ == na::Access::read;
    return eager_says_all ? head_bytes + remote.eager_.size() : 0;
}

Errc forward(const RemoteRegion& remote, ByteWriter& writer) noexcept {
    const std::size_t bytes = forwarded_bytes(remote);
    if (bytes == 0) return Errc::unreachable;
    if (bytes > writer.left()) return Errc::too_large;
    if (!remote.owner_.empty()) {
        writer.bytes(remote.encoded_);
        return Errc::ok;
    }
    const bool bound = !remote.home_.empty();
    if (bound) {
        // The address becomes the owner in the new descriptor, and the third party that receives the descriptor checks
        // the address. The address must be one that can be dialled, or the third party could not connect to the owner.
        ByteReader reader(remote.home_);
        const auto owner = na::Addr::decode(reader);
        if (!owner || !owner->listens() || reader.left() != 0) return Errc::protocol;
    }
    writer.u8(format_version);
    const bool segments = bound && remote.segment_count_ > 0;
    writer.u8(static_cast<std::uint8_t>((bound ? flag_bound : 0) | (segments ? flag_segments : 0) |
                                        (remote.eager_.empty() ? 0 : flag_eager)));
    writer.u8(static_cast<std::uint8_t>(remote.access_));
    writer.u8(bound ? remote.key_count_ : std::uint8_t{0});
    writer.u64(remote.bytes_);
    if (bound) {
        writer.bytes(remote.keys_);
        writer.bytes(remote.home_);
        if (segments) {
            writer.u32(static_cast<std::uint32_t>(remote.segment_count_));
            writer.bytes(remote.segments_);
        }
    }
    writer.bytes(remote.eager_);
    return Errc::ok;
}

}  // namespace cinnabar::bulk
