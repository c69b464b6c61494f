// SPDX-License-Identifier: BSD-3-Clause
// Compares each window of an arriving file with the remains or with the older version, pulls what is missing or lets
// the client push it, and hashes and writes the windows in file order.
#include "session/upload.hpp"

#include "file/journal.hpp"
#include "session/arrival.hpp"
#include "session/move_ranges.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace cinnabar::files {
namespace {

// How long after the client's answer its notification may arrive.
constexpr std::chrono::microseconds notice_late_max = std::chrono::seconds(1);

// Zeroes the blocks that are zeros at the client, whatever the older version has there. `wanted`: checksums of the
// client's blocks.
void make_zero_blocks(Bytes content, const std::vector<std::uint64_t>& wanted) {
    const auto zeros = zero_block_checksums(content.size());
    for (std::size_t block = 0; block < std::min(zeros.size(), wanted.size()); ++block) {
        if (wanted[block] != zeros[block]) continue;
        const auto rest = content.subspan(block * compared_block_bytes);
        std::ranges::fill(rest.first(std::min(compared_block_bytes, rest.size())), std::byte{0});
    }
}

Error no_such_window() { return {Errc::invalid_argument, "the file has no such window"}; }

// Awaits the answer to a fill call, then ends the wait for the notification if that has not arrived in time.
hl::Task<Result<void>> ask_for(const hl::NodeRef& node, Arrival& arrival, hl::Task<Result<void>> asking) {
    Result<void> asked = co_await std::move(asking);
    if (asked && !arrival.over()) (void)co_await node.sleep_for(notice_late_max);
    arrival.close(asked ? Errc::protocol : asked.code());
    co_return asked;
}

// Compares the sum of what has arrived with the client's. Runs on a disk thread.
Result<void> compare_sum(const ArrivingSum& sum, std::optional<std::uint64_t> so_far) {
    if (!so_far || sum.read() == *so_far) return {};
    return Error{Errc::bad_checksum, "the checksum of the received data is wrong"};
}

}  // namespace

Upload::Upload(Buffers& buffers, SessionPart& session, Disk& disk, const Root& root, NewFile file, std::uint64_t bytes,
               bool checked, bool sparse) noexcept
    : buffers_(buffers),
      disk_(disk),
      root_(root),
      file_(std::move(file)),
      bytes_(bytes),
      checked_(checked),
      sparse_(sparse),
      share_(buffers, session) {}

Upload::~Upload() {
    // A disk thread closes the older version: if it was replaced, closing its last descriptor frees its blocks, which
    // takes long.
    if (basis_) disk_.dispose(*std::move(basis_));
    if (!keeps()) {
        disk_.dispose(std::move(file_));
        return;
    }
    disk_.start([&root = root_, file = std::move(file_), known = known_, part = known_part(),
                 sender = std::move(sender_)]() mutable {
        NewFile::Left left;
        if (part) left = [&](const FileStamp& state) { known->put(file.name(), state, sender, *std::move(part)); };
        file.park(left);
        (void)root.trim_remains();
    });
}

// The remains are kept after the end of a session or on a full disk. Nothing is kept if the data was wrong.
bool Upload::keeps() const noexcept { return !given_up_ && (!failure_ || may_resume_after(failure_->code)); }

// sum_ may cover more than the position of writing_ if the file was closed while a claim was being compared.
std::optional<KnownRemains::Part> Upload::known_part() {
    if (!known_ || !compared_ || sum_.bytes() == 0) return std::nullopt;
    return KnownRemains::Part{sum_.bytes(), Checksum(sum_.whole())};
}

void Upload::use_known(KnownRemains& known, KnownRemains::Sender sender, bool rereads) {
    known_ = &known;
    sender_ = std::move(sender);
    auto part = known.take(file_.name(), file_.found(), sender_);
    // The journal may have less: it was damaged, or could not be written.
    if (!part || rereads || part->bytes > file_.resumed_bytes()) return;
    proven_bytes_ = part->bytes;
    sum_ = ArrivingSum(std::move(part->sum), proven_bytes_);
    taking_.advance(proven_bytes_);
    writing_.advance(proven_bytes_);
}

void Upload::give_up(Error why) {
    given_up_ = true;
    close(std::move(why));
}

void Upload::close(Error why) {
    if (failure_) return;
    const Errc code = why.code;
    failure_ = std::move(why);
    taking_.close(code);
    share_.close(code);
    writing_.close(code);
    to_come_again_.clear();
}

std::uint64_t Upload::window_bytes(std::uint64_t offset) const noexcept {
    const std::uint64_t step = buffers_.buffer_bytes();
    return offset < bytes_ && offset % step == 0 ? std::min(step, bytes_ - offset) : 0;
}

hl::Task<Result<WindowOut>> Upload::receive(const WindowIn& in, bool may_come_again) {
    if (failure_) co_return *failure_;
    // A window that is compared with remains keeps its turn to be written, so it cannot come again.
    may_come_again = may_come_again && !in.again && in.offset >= file_.resumed_bytes();
    const MovingWindows::Entry moving(moving_, in.offset);
    Result<WindowOut> outcome = no_such_window();
    if (in.window.size() != 0 && in.window.size() == window_bytes(in.offset)) {
        if (in.offset < file_.resumed_bytes()) {
            outcome = co_await compare(in);
        } else if (in.again && in.offset < writing_.position()) {
            outcome = WindowOut{};  // only the answer was lost
        } else {
            outcome = co_await pull(in, may_come_again);
        }
    }
    if (!outcome && !may_come_again) close(outcome.error());
    co_return outcome;
}

hl::Task<Result<ClaimOut>> Upload::claim(const ClaimIn& in) {
    if (failure_) co_return *failure_;
    Result<ClaimOut> outcome = no_such_window();
    const std::uint64_t after_first = in.checksums.empty() ? 0 : in.checksums.size() - 1;
    const bool fits = !in.checksums.empty() && window_bytes(in.offset) != 0 &&
                      in.offset + after_first * buffers_.buffer_bytes() < file_.resumed_bytes();
    if (fits) outcome = co_await verify(in);
    if (!outcome) close(outcome.error());
    co_return outcome;
}

// Keeps its turns until all windows are compared: no other window of the file is taken or written meanwhile. Windows
// are read from the disk one by one, so that other files can use the disk in between.
hl::Task<Result<ClaimOut>> Upload::verify(const ClaimIn& in) {
    if (const Errc turn = co_await taking_.reach(in.offset); turn != Errc::ok) co_return reason(turn);
    Result<Buffer> buffer = co_await buffers_.take(share_);
    if (!buffer) co_return reason(buffer.code());
    if (const Errc turn = co_await writing_.reach(in.offset); turn != Errc::ok) co_return reason(turn);
    const Bytes scratch = buffer->bytes().first(std::min(buffer->bytes().size(), claimed_piece_bytes));
    const auto until = std::chrono::steady_clock::now() + claim_step;
    std::uint64_t offset = in.offset;
    ClaimOut out;
    while (out.windows < in.checksums.size()) {
        const std::uint64_t bytes = window_bytes(offset);
        const std::uint64_t checksum = in.checksums[out.windows];
        Result<bool> had = co_await disk_.run([this, offset, bytes, checksum, scratch] {
            return file_.verify_block(offset, bytes, checksum, scratch, sum_);
        });
        if (failure_) co_return *failure_;
        if (!had) co_return std::move(had).error();
        if (!*had) break;
        ++out.windows;
        offset += bytes;
        if (std::chrono::steady_clock::now() >= until) break;
    }
    taking_.advance(offset);
    advance(offset);
    co_return out;
}

hl::Task<Result<void>> Upload::receive_hole(const WindowIn& in) {
    if (failure_) co_return *failure_;
    Result<void> outcome = no_such_window();
    const std::uint64_t bytes = window_bytes(in.offset);
    if (bytes != 0 && sparse_) outcome = co_await leave_out(in, bytes);
    if (!outcome) close(outcome.error());
    co_return outcome;
}

hl::Task<Result<void>> Upload::leave_out(const WindowIn& in, std::uint64_t bytes) {
    const std::uint64_t offset = in.offset;
    if (const Errc turn = co_await taking_.reach(offset); turn != Errc::ok) co_return reason(turn);
    taking_.advance(offset + bytes);
    if (const Errc turn = co_await writing_.reach(offset); turn != Errc::ok) co_return reason(turn);
    Result<void> left = co_await disk_.run([this, offset, bytes, so_far = in.so_far]() -> Result<void> {
        if (!checked_) return file_.leave_out(offset, bytes);
        ArrivingSum sum(sum_);
        sum.update_zeros(bytes);
        CINNABAR_TRY_VOID(compare_sum(sum, so_far));
        CINNABAR_TRY_VOID(file_.leave_out(offset, bytes));
        keep_sum(std::move(sum), so_far);
        return {};
    });
    if (left) advance(offset + bytes);
    co_return left;
}

hl::Task<Result<void>> Upload::grant(const PushIn& in, const hl::NodeRef& node, const na::Addr& client, const Ask& ask,
                                     bool may_come_again) {
    if (failure_) co_return *failure_;
    may_come_again = may_come_again && !in.again;
    const MovingWindows::Entry moving(moving_, in.offset);
    Result<void> outcome = no_such_window();
    if (in.again && in.offset < writing_.position()) {
        outcome = Result<void>();  // only the answer was lost
    } else if (window_bytes(in.offset) != 0) {
        outcome = co_await have_pushed(in, node, client, ask, may_come_again);
    }
    if (!outcome && !may_come_again) close(outcome.error());
    co_return outcome;
}

// Takes buffers in file order, so that the window that must be written next always has one.
hl::Task<Result<Buffer>> Upload::take(std::uint64_t offset, std::uint64_t bytes) {
    if (const Errc turn = co_await taking_.reach(offset); turn != Errc::ok) co_return reason(turn);
    Result<Buffer> buffer = co_await buffers_.take(share_);
    if (!buffer) co_return reason(buffer.code());
    taking_.advance(offset + bytes);
    co_return buffer;
}

hl::Task<Result<void>> Upload::write(std::uint64_t offset, ConstBytes content, SoFar so_far) {
    if (const Errc turn = co_await writing_.reach(offset); turn != Errc::ok) co_return reason(turn);
    Result<void> written = co_await write_now(offset, content, so_far);
    if (!written) close(written.error());  // whatever connection it came over
    co_return written;
}

hl::Task<Result<void>> Upload::write_now(std::uint64_t offset, ConstBytes content, SoFar so_far) {
    Result<void> written = co_await disk_.run([this, content, offset, so_far]() -> Result<void> {
        if (!checked_) return file_.write(offset, content);
        ArrivingSum sum(sum_);
        sum.update(content);
        CINNABAR_TRY_VOID(compare_sum(sum, so_far));
        CINNABAR_TRY_VOID(file_.write(offset, content));
        keep_sum(std::move(sum), so_far);
        return {};
    });
    if (written) advance(offset + content.size());
    co_return written;
}

void Upload::keep_sum(ArrivingSum sum, SoFar so_far) noexcept {
    sum_ = std::move(sum);
    compared_ = compared_ && so_far;
}

void Upload::advance(std::uint64_t offset) {
    if (auto journal = file_.due_journal()) disk_.start([journal] { journal->checkpoint(); });
    writing_.advance(offset);
}

// Runs on a disk thread. Fills `content` with what this server has of the window: the older version and, past its end,
// zeros if the file is sparse. Returns the ranges that still have to be pulled.
std::vector<ByteRange> Upload::take_from_basis(const WindowIn& in, Bytes content) const {
    auto have = content.first(basis_ ? basis_->read_some(in.offset, content) : 0);
    if (sparse_) {
        std::ranges::fill(content.subspan(have.size()), std::byte{0});
        make_zero_blocks(content, in.blocks);
        have = content;
    }
    return changed_ranges(block_checksums(have, content.size()), in.blocks, content.size());
}

// Bytes that matched are used as they were read for the comparison: the older version is not read again, because others
// may write to it at the same time.
hl::Task<Result<std::uint64_t>> Upload::pull_into(const Buffer& buffer, const WindowIn& in) {
    const std::uint64_t bytes = in.window.size();
    std::vector<ByteRange> ranges{{0, bytes}};
    if ((basis_ || sparse_) && !in.blocks.empty()) {
        const Bytes content = buffer.bytes().first(bytes);
        ranges = co_await disk_.run([this, &in, content] { return take_from_basis(in, content); });
    }
    Result<void> pulled = co_await pull_ranges(buffer, in.window, ranges);
    if (!pulled) co_return std::move(pulled).error();
    co_return bytes - bytes_of(ranges);
}

hl::Task<Result<Buffer>> Upload::buffer_for(std::uint64_t offset, bool again) {
    if (again) {
        if (auto kept = to_come_again_.extract(offset)) co_return std::move(kept.mapped().buffer);
    }
    co_return co_await take(offset, window_bytes(offset));
}

// A buffer that the client may still write to, over the lost connection, is not used again. Its window cannot be taken
// once more, and later ones would wait for it for ever.
void Upload::keep_for_again(std::uint64_t offset, Buffer buffer) {
    if (failure_) return;
    if (buffer.region().quarantined())
        return close(
            Error{Errc::peer_lost, "the lost connection may still write to memory of the file: save it again"});
    to_come_again_.emplace(offset, Kept{std::move(buffer)});
}

unsigned Upload::count_lost_second() noexcept {
    unsigned longest = 0;
    for (auto& [offset, kept] : to_come_again_) longest = std::max(longest, ++kept.seconds);
    return longest;
}

hl::Task<Result<WindowOut>> Upload::pull(const WindowIn& in, bool may_come_again) {
    Result<Buffer> buffer = co_await buffer_for(in.offset, in.again);
    if (!buffer) co_return std::move(buffer).error();
    Result<std::uint64_t> had = co_await pull_into(*buffer, in);
    if (!had && may_come_again) keep_for_again(in.offset, *std::move(buffer));
    if (!had) co_return std::move(had).error();
    Result<void> written = co_await write(in.offset, buffer->bytes().first(in.window.size()), in.so_far);
    if (!written) co_return std::move(written).error();
    co_return WindowOut{*had};
}

// Compares in file order: if the recorded checksum of a window is not the client's, find_block() drops the remains from
// that window on.
hl::Task<Result<WindowOut>> Upload::compare(const WindowIn& in) {
    const std::uint64_t offset = in.offset;
    Result<Buffer> buffer = co_await take(offset, in.window.size());
    if (!buffer) co_return std::move(buffer).error();
    if (const Errc turn = co_await writing_.reach(offset); turn != Errc::ok) co_return reason(turn);
    const Bytes content = buffer->bytes().first(in.window.size());
    Result<bool> found = co_await disk_.run([this, offset, content, checksum = in.checksum] {
        auto same = file_.find_block(offset, content, checksum);
        if (same && *same && checked_) sum_.update(content);
        return same;
    });
    if (!found) co_return std::move(found).error();
    if (*found) {
        advance(offset + content.size());
        co_return WindowOut{content.size()};
    }
    Result<std::uint64_t> had = co_await pull_into(*buffer, in);
    if (!had) co_return std::move(had).error();
    Result<void> written = co_await write_now(offset, content, in.so_far);
    if (!written) co_return std::move(written).error();
    co_return WindowOut{*had};
}

// Writes the data as soon as it has arrived, without waiting for the client's answer.
hl::Task<Result<void>> Upload::have_pushed(const PushIn& in, const hl::NodeRef& node, const na::Addr& client,
                                           const Ask& ask, bool may_come_again) {
    const std::uint64_t bytes = window_bytes(in.offset);
    Result<Buffer> buffer = co_await buffer_for(in.offset, in.again);
    if (!buffer) co_return std::move(buffer).error();
    Arrival arrival;
    if (const Errc full = arrival.open(node.rpc_context(), client); full != Errc::ok) {
        if (may_come_again) keep_for_again(in.offset, *std::move(buffer));
        co_return full;
    }
    auto [asked, written] = co_await hl::when_all(
        ask_for(node, arrival, ask(hl::Bulk(buffer->region().slice(0, bytes), na::Access::write), arrival.value())),
        write_when_there(arrival, in.offset, buffer->bytes().first(bytes)));
    const bool lost = writing_.position() <= in.offset;
    if (lost && may_come_again) keep_for_again(in.offset, *std::move(buffer));
    if (!asked) co_return std::move(asked).error();
    co_return std::move(written);
}

hl::Task<Result<void>> Upload::write_when_there(Arrival& arrival, std::uint64_t offset, ConstBytes content) {
    if (const Errc lost = co_await arrival; lost != Errc::ok) co_return reason(lost);
    co_return co_await write(offset, content, std::nullopt);
}

hl::Task<Result<void>> Upload::commit(std::uint64_t checksum, const NewFile::BeforeNaming& before_naming, bool synced) {
    if (failure_) co_return *failure_;
    if (writing_.position() != bytes_) {
        close(Error{Errc::invalid_argument, "windows of the file are missing"});
        co_return *failure_;
    }
    give_up(Error{Errc::closed, "the file is being committed"});
    if (checked_) {
        if (auto same = compare_sum(sum_, checksum); !same) co_return std::move(same).error();
        file_.keep_checksum(sum_.whole().digest());
    }
    const Sync how = synced ? Sync::each : Sync::none;
    co_return co_await disk_.run([this, &before_naming, how] { return file_.commit(before_naming, how); });
}

}  // namespace cinnabar::files
