// SPDX-License-Identifier: BSD-3-Clause
// BulkLane: input of lane 1. One read puts the rest of a frame's data in place, and the next headers into the staging
// buffer.
#include "bulk_lane.hpp"
#include "port.hpp"

#include <algorithm>
#include <cstring>

namespace cinnabar::tcp {
namespace {

constexpr std::size_t read_pieces_max = 512;
// The maximum number of bytes that one read puts into scattered memory, because a read seldom returns more, and
// gathering pieces takes time.
constexpr std::uint64_t scattered_bytes_max = 256 * 1024;
constexpr std::size_t few_segments = 16;
// The maximum number of bytes that one read takes beyond the data that it puts in place. These bytes must be copied
// once more.
constexpr std::size_t staging_bytes = 4096;

}  // namespace

// The memory into which the next system call puts data. Pins the lease.
struct BulkLane::Destination {
    std::optional<na::LeaseTable::Pin> pin;
    std::array<iovec, read_pieces_max + 1> pieces;
    std::size_t count = 0;
    std::uint64_t bytes = 0;
};

namespace {

void gather_into(const na::Memory& memory, std::uint64_t offset, std::uint64_t want, std::size_t& count, iovec* pieces,
                 std::uint64_t& bytes) noexcept {
    if (memory.segments().size() > few_segments) want = std::min(want, scattered_bytes_max);
    count = memory.gather(offset, want, pieces, read_pieces_max, bytes);
}

}  // namespace

// Finds the memory for the next data, at most `bytes_max`. If that memory is gone, the sink becomes `discard`.
void BulkLane::find_destination(std::uint64_t bytes_max, Destination& to) noexcept {
    const std::uint64_t want = std::min(in_left_, bytes_max);
    const std::uint64_t came = in_.bytes - in_left_;
    if (sink_ == Sink::get) {
        if (const na::PostedOp* posted = find(in_.id)) {
            const na::Op& op = *posted->op;
            gather_into(*op.local, op.local_offset + posted->moved, want, to.count, to.pieces.data(), to.bytes);
            return;
        }
        sink_ = Sink::discard;  // the get was canceled
    }
    if (sink_ == Sink::put) {
        to.pin.emplace(pin_for_put(in_.id, body_.key, body_.offset + came, want));
        if (to.pin->ok()) {
            gather_into(to.pin->memory(), to.pin->offset(), want, to.count, to.pieces.data(), to.bytes);
            return;
        }
        sink_ = Sink::discard;
    }
    // The first part of the scratch memory is the staging buffer.
    const Bytes waste = port().scratch().subspan(staging_bytes);
    to.bytes = std::min<std::uint64_t>(want, waste.size());
    to.pieces[0] = iovec{waste.data(), static_cast<std::size_t>(to.bytes)};
    to.count = 1;
}

unsigned BulkLane::read_lane() noexcept {
    unsigned did = 0;
    for (std::size_t budget = slice(); budget > 0 && !peer().ending();) {
        const Bytes staging = port().scratch().first(staging_bytes);
        std::size_t came = 0;
        std::size_t asked = 0;
        {
            Destination to;
            if (in_left_ > 0) find_destination(budget, to);
            asked = static_cast<std::size_t>(to.bytes);
            if (to.bytes == in_left_) {
                to.pieces[to.count++] = iovec{staging.data(), staging.size()};
                asked += staging.size();
            }
            const na::Moved moved = stream().receive(to.pieces.data(), to.count);
            to.pin.reset();  // the code below may revoke the lease
            if (moved.why != Errc::ok && moved.why != Errc::again) fail(moved.why);
            if (moved.why != Errc::ok) return did;
            came = moved.bytes;
            const std::uint64_t placed = std::min<std::uint64_t>(came, to.bytes);
            if (placed > 0) data_came(placed);
            came -= static_cast<std::size_t>(placed);
            asked -= static_cast<std::size_t>(placed);
            budget -= static_cast<std::size_t>(std::min<std::uint64_t>(budget, placed + came));
            ++did;
        }
        port().hot_lanes().add(*this);
        if (came > 0) did += parse(staging.first(came));
        if (came < asked) break;
    }
    return did;
}

// Accounts for data that are already in place.
void BulkLane::data_came(std::uint64_t bytes) noexcept {
    in_left_ -= bytes;
    if (sink_ == Sink::get) got(*find(in_.id), bytes);
    if (sink_ == Sink::put && in_left_ == 0) put_placed(access_of(in_), body_);
}

unsigned BulkLane::parse(ConstBytes bytes) noexcept {
    unsigned did = 0;
    while (!bytes.empty() && !peer().ending()) {
        if (in_left_ == 0) {
            bytes = parse_head(bytes, did);
            continue;
        }
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(in_left_, bytes.size()));
        copy_in(bytes.first(part));
        bytes = bytes.subspan(part);
    }
    return did;
}

// Parses a header and its body, which may arrive in parts. Returns the bytes that follow.
ConstBytes BulkLane::parse_head(ConstBytes bytes, unsigned& did) noexcept {
    const std::size_t need = frame_header_bytes + (header_known_ ? body_bytes(in_.kind) : 0);
    const std::size_t part = std::min(bytes.size(), need - in_have_);
    std::memcpy(in_head_.data() + in_have_, bytes.data(), part);
    in_have_ = static_cast<std::uint8_t>(in_have_ + part);
    if (in_have_ < need) return {};
    Errc wrong = Errc::ok;
    if (!header_known_) {
        wrong = decode_header(in_head_, LaneKind::bulk, 0, in_);
        header_known_ = wrong == Errc::ok;
    }
    if (header_known_ && in_have_ == frame_header_bytes + body_bytes(in_.kind)) {
        header_known_ = false;
        in_have_ = 0;
        wrong = take_frame();
        if (wrong == Errc::ok) ++did;
    }
    if (wrong != Errc::ok) {
        port().transport().log_malformed(peer(), "malformed frame on lane 1");
        fail(Errc::protocol);
    }
    return bytes.subspan(part);
}

void BulkLane::copy_in(ConstBytes bytes) noexcept {
    while (!bytes.empty()) {
        std::uint64_t placed = 0;
        {
            Destination to;
            find_destination(bytes.size(), to);
            for (std::size_t i = 0; i < to.count; ++i) {
                std::memcpy(to.pieces[i].iov_base, bytes.data() + placed, to.pieces[i].iov_len);
                placed += to.pieces[i].iov_len;
            }
        }
        bytes = bytes.subspan(static_cast<std::size_t>(placed));
        data_came(placed);
    }
}

// Handles a frame whose header and body are complete.
Errc BulkLane::take_frame() noexcept {
    body_ = {};
    const na::AccessHead head = access_of(in_);
    if (na::decode_access_body(head, ConstBytes(in_head_).subspan(frame_header_bytes), body_) != Errc::ok) {
        return Errc::protocol;
    }
    in_left_ = in_.bytes;
    sink_ = Sink::discard;
    if (in_.kind == FrameKind::put) {
        // Checks the rest of the operation as a whole, so that an operation that does not fit writes nothing.
        if (!refused(in_.id) && pin_for_put(in_.id, body_.key, body_.offset, body_.left).ok()) sink_ = Sink::put;
    } else if (in_.kind == FrameKind::get_data) {
        na::PostedOp* posted = nullptr;
        if (find_get(head, posted) != Errc::ok) return Errc::protocol;
        if (posted) sink_ = Sink::get;
    } else if (in_.kind == FrameKind::stop && source_ == Source::get && get_->id == in_.id) {
        release(*std::exchange(get_, nullptr));
        source_ = Source::zeros;
    } else {
        return RemoteAccess::frame_came(head, body_);
    }
    if (in_left_ == 0) data_came(0);
    return Errc::ok;
}

}  // namespace cinnabar::tcp
