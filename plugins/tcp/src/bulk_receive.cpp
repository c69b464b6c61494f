// SPDX-License-Identifier: BSD-3-Clause
// Input of lane 1: one read takes the rest of a frame's data in place, and the next headers into staging.
#include "bulk_lane.hpp"
#include "port.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <cstring>

namespace cinnabar::tcp {
namespace {

constexpr std::size_t pieces_max = 512;
// Into many segments: a read seldom brings more, and the pieces of what it does not bring were gathered for nothing.
constexpr std::uint64_t scattered_bytes_max = 256 * 1024;
constexpr std::size_t few_segments = 16;
// What one read may take beyond the data that it places: the part of a chunk that is copied once more.
constexpr std::size_t staging_bytes = 4096;

}  // namespace

// Where data go in the next system call. Holds the lease while it lives.
struct BulkLane::Destination {
    std::optional<na::LeaseTable::Pin> pin;
    std::array<iovec, pieces_max + 1> pieces;
    std::size_t count = 0;
    std::uint64_t bytes = 0;
};

namespace {

void gather_into(const na::Memory& memory, std::uint64_t offset, std::uint64_t want, std::size_t& count, iovec* pieces,
                 std::uint64_t& bytes) noexcept {
    if (memory.segments().size() > few_segments) want = std::min(want, scattered_bytes_max);
    count = memory.gather(offset, want, pieces, pieces_max, bytes);
}

}  // namespace

// The place of the next data, at most `bytes_max` of them; changes the sink to discard when it is gone.
void BulkLane::find_destination(std::uint64_t bytes_max, Destination& to) noexcept {
    const std::uint64_t want = std::min(in_left_, bytes_max);
    const std::uint64_t came = in_.bytes - in_left_;
    if (sink_ == Sink::get) {
        const RmaSlot* slot = port().rma_slots().at(static_cast<std::uint32_t>(in_.id));
        if (slot->posted && slot->lane == this && slot->generation == static_cast<std::uint32_t>(in_.id >> 32)) {
            const Posted& posted = *slot->posted;
            const na::Op& op = *posted.op;
            gather_into(*op.local, op.local_offset + posted.moved, want, to.count, to.pieces.data(), to.bytes);
            return;
        }
        sink_ = Sink::discard;  // canceled
    }
    if (sink_ == Sink::put) {
        to.pin.emplace(port().transport().leases().pin(body_.key, body_.offset + came, want, na::Access::write));
        if (to.pin->ok()) {
            gather_into(to.pin->memory(), to.pin->offset(), want, to.count, to.pieces.data(), to.bytes);
            return;
        }
        refuse_put(to.pin->why());
    }
    // The first half of the scratch is staging.
    const Bytes waste = port().scratch().subspan(staging_bytes);
    to.bytes = std::min<std::uint64_t>(want, waste.size());
    to.pieces[0] = iovec{waste.data(), static_cast<std::size_t>(to.bytes)};
    to.count = 1;
}

unsigned BulkLane::receive() noexcept {
    unsigned did = 0;
    for (std::size_t budget = port().bulk_slice(); budget > 0 && !peer().ending;) {
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
            const na::Moved moved = na::receive_some(fd(), to.pieces.data(), to.count);
            to.pin.reset();  // what follows may run code that revokes
            if (moved.why == Errc::peer_lost) fail(Errc::peer_lost);
            if (moved.why != Errc::ok) return did;
            came = moved.bytes;
            const std::uint64_t placed = std::min<std::uint64_t>(came, to.bytes);
            if (placed > 0) data_came(placed);
            came -= static_cast<std::size_t>(placed);
            asked -= static_cast<std::size_t>(placed);
            budget -= static_cast<std::size_t>(std::min<std::uint64_t>(budget, placed + came));
            ++did;
        }
        port().touched(*this);
        if (came > 0) did += parse(staging.first(came));
        if (came < asked) break;
    }
    return did;
}

// They lie where they belong already.
void BulkLane::data_came(std::uint64_t bytes) noexcept {
    in_left_ -= bytes;
    if (sink_ == Sink::get) {
        const RmaSlot* slot = port().rma_slots().at(static_cast<std::uint32_t>(in_.id));
        slot->posted->moved += bytes;
    }
    if (in_left_ == 0) data_complete();
}

void BulkLane::data_complete() noexcept {
    if (in_.kind == FrameKind::put) return put_complete();
    if (sink_ != Sink::get) return;
    const RmaSlot* slot = port().rma_slots().at(static_cast<std::uint32_t>(in_.id));
    Posted& posted = *slot->posted;
    if (posted.moved == posted.op->bytes) retire(posted, Errc::ok);
}

unsigned BulkLane::parse(ConstBytes bytes) noexcept {
    unsigned did = 0;
    while (!bytes.empty() && !peer().ending) {
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

// Takes header and body, which may come in parts; returns the bytes behind them.
ConstBytes BulkLane::parse_head(ConstBytes bytes, unsigned& did) noexcept {
    const std::size_t need = frame_header_bytes + (header_known_ ? body_bytes(in_.kind) : 0);
    const std::size_t part = std::min(bytes.size(), need - in_have_);
    std::memcpy(in_head_.data() + in_have_, bytes.data(), part);
    in_have_ = static_cast<std::uint8_t>(in_have_ + part);
    if (in_have_ < need) return {};
    Errc wrong = Errc::ok;
    if (!header_known_) {
        wrong = decode_header(in_head_, Lane::bulk, 0, in_);
        header_known_ = wrong == Errc::ok;
    }
    if (header_known_ && in_have_ == frame_header_bytes + body_bytes(in_.kind)) {
        body_ = {};
        wrong = decode_body(ConstBytes(in_head_).subspan(frame_header_bytes), in_, body_);
        header_known_ = false;
        in_have_ = 0;
        if (wrong == Errc::ok) {
            ++did;
            in_left_ = in_.bytes;
            frame_came();
        }
    }
    if (wrong != Errc::ok) {
        log(LogLevel::warning, "tcp: bytes that make no sense came from %s on lane 1: its session is closed",
            peer().addr().to_string().c_str());
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

void BulkLane::frame_came() noexcept {
    switch (in_.kind) {
        case FrameKind::get:
            return get_asked();
        case FrameKind::get_data:
            if (!begin_get_data()) return fail(Errc::protocol);
            break;
        case FrameKind::put:
            begin_put();
            break;
        case FrameKind::get_failed:
        case FrameKind::put_done:
        case FrameKind::atomic_done:
            return answered();
        case FrameKind::stop:
            return stop_asked();
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
            return atomic_asked();
        default:
            return;
    }
    if (in_left_ == 0) data_complete();
}

}  // namespace cinnabar::tcp
