// SPDX-License-Identifier: BSD-3-Clause
// Saves a file: lends its windows to the server, or writes them into buffers of the server.
#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "file/journal.hpp"
#include "session/client_session.hpp"
#include "session/more_streams.hpp"
#include "session/moving_windows.hpp"
#include "session/remote_error.hpp"
#include "session/source_mark.hpp"
#include "session/waiting.hpp"

#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace cinnabar::files {

namespace {

// Writes a window into the buffer that the server has granted, and notifies the server.
hl::Task<Result<void>> push_into(const FillIn& in, bulk::Region window) {
    hl::TransferOptions options;
    options.notify = in.notice;
    options.deadline = fill_deadline;
    const auto moved = co_await in.buffer.push(std::move(window), options);
    if (!moved) co_return moved.error();
    co_return Result<void>();
}

// Whether proven_bytes in the answer to an open call is plausible.
bool may_be_proven(const OpenIn& open, const OpenOut& opened, std::uint64_t window_bytes) noexcept {
    const std::uint64_t proven = opened.proven_bytes;
    if (proven == 0) return true;
    const bool whole_windows = proven == open.bytes || proven % window_bytes == 0;
    return open.source != SourceMark{} && !open.rereads && whole_windows && proven <= open.bytes &&
           proven <= opened.resumed_bytes;
}

}  // namespace

// A file being sent. Shared by the lanes that send its windows; lives in the task that started them.
struct ClientSession::Sending {
    ClientSession& client;
    SourceFile source;
    std::uint64_t file;
    SaveMode mode;
    BytesMoved progress;
    Share share;
    std::uint64_t resumed_bytes;             // bytes that the server already had, as it claims
    std::uint64_t basis_bytes;               // the same, from an older version
    std::uint64_t proven_bytes;              // how many of resumed_bytes need not be read
    std::uint64_t had_bytes = proven_bytes;  // bytes that the server had and did not need again
    std::uint64_t sent_bytes = 0;
    Sequence reading{};
    Sequence passing{};  // windows are sent in file order, as the server handles them
    Checksum sum{};      // of what was read, from proven_bytes on
    std::uint64_t next = proven_bytes;
    MovingWindows filling{};
    std::set<std::uint64_t> pushed_again{};  // offsets; their windows may be asked for once more
    bool claims_end = false;                 // the server lacks some of what was claimed, or did not answer
    std::optional<Error> failure{};

    void fail(Error why) {
        if (failure) return;
        failure = std::move(why);
        close(failure->code);
    }
    [[nodiscard]] bool offers(std::uint64_t offset) const { return offset < std::max(resumed_bytes, basis_bytes); }
    // Ends fill calls that wait for their turn.
    void close(Errc why) {
        reading.close(why);
        passing.close(why);
        share.close(why);
    }

    // Windows that the server says it has, and their checksums.
    struct Claim {
        ClaimIn in;
        std::vector<Checksum> sums;  // `sum` before each of these windows, and after the last one
    };
    // Claims the windows that the server says it has, until it turns out not to have one.
    [[nodiscard]] hl::Task<Result<void>> claim_windows();
    // Reads the next windows to be claimed. `before`: the checksum of the file up to `offset`. Ends early if claims_end
    // is set.
    [[nodiscard]] hl::Task<Result<Claim>> read_claim(std::uint64_t offset, Checksum before);
    // Adds a window to the claim.
    [[nodiscard]] Result<void> sum_claimed(Claim& claim, std::uint64_t offset, Bytes scratch) const;
    // Returns how many of the windows, from the first one on, the server has.
    [[nodiscard]] hl::Task<Result<std::uint32_t>> send_claim(ClaimIn& in);
    [[nodiscard]] hl::Task<Result<void>> send_windows();
    [[nodiscard]] hl::Task<void> send_lane();
    [[nodiscard]] hl::Task<Result<void>> send_window(std::uint64_t offset);
    // Finds out whether parts of a window, or all of it, lie in holes. If all of it does, tells the server.
    enum class Holes : std::uint8_t { none, parts, all };
    [[nodiscard]] hl::Task<Result<Holes>> pass_hole(std::uint64_t offset);
    struct Window {
        Buffer buffer;
        std::optional<std::uint64_t> so_far;  // WindowIn::so_far
    };
    [[nodiscard]] hl::Task<Result<Window>> read_window(std::uint64_t offset);
    // `holed`: sends the checksums of all blocks, so that the server does not pull blocks of zeros.
    [[nodiscard]] hl::Task<Result<void>> lend_window(std::uint64_t offset, bool holed);
    // Sends the window by a push: the server answers with a fill call that grants a buffer, which fill() writes into.
    [[nodiscard]] hl::Task<Result<void>> push_window(std::uint64_t offset);
    // Reads the window that the server asks for, in its turn; or once more, if it is pushed again.
    [[nodiscard]] hl::Task<Result<void>> fill_buffer(const FillIn& in);
    [[nodiscard]] hl::Task<Result<void>> fill_again(const FillIn& in);
};

hl::Task<Result<Moved>> ClientSession::save(OpenSource open_source, const std::string& name, SaveMode mode,
                                            BytesMoved progress) {
    auto source = co_await disk_.run([&open_source] { return open_source(); });
    if (!source) co_return std::move(source).error();
    auto attributes = co_await disk_.run([&] { return source->attributes(mode.extended); });
    if (!attributes) co_return std::move(attributes).error();
    OpenIn open;
    open.name = name;
    open.bytes = source->bytes();
    open.attributes = *std::move(attributes);
    open.exact = mode.exact;
    open.sparse = source->sparse();
    open.replace = mode.existing == Existing::replace;
    open.checked = mode.checked;
    open.compares = mode.checked && compares_blocks(mode.existing, mode.whole, open.bytes);
    open.rereads = mode.rereads;
    if (mode.checked && open.bytes / window_bytes_ >= resumed_windows_min)
        open.source = co_await disk_.run([&] { return mark_of(*source, server_.to_string(), name); });
    seals_.stamp(open);
    auto opened = co_await node_.call(open_rpc, server_, open, open_deadline);
    if (!opened) {
        Error error = from_remote(std::move(opened).error());
        if (!mode.again || error.code != Errc::exists) co_return error;
        auto finding = find_saved(*source, name, std::move(error));
        co_return co_await std::move(finding);
    }

    const std::shared_ptr<Sending> file(new Sending{*this, *std::move(source), opened->file, mode, std::move(progress),
                                                    Share(*buffers_, part_), opened->resumed_bytes,
                                                    open.compares ? opened->basis_bytes : 0, opened->proven_bytes});
    if (!may_be_proven(open, *opened, window_bytes_)) {
        co_await give_up(file->file);
        co_return Error{Errc::protocol, "the server has more of the file than it can have proven"};
    }
    file->reading.advance(file->proven_bytes);
    file->passing.advance(file->proven_bytes);
    if (file->progress && file->proven_bytes > 0) file->progress(file->proven_bytes);
    if (mode.push) pushing_.emplace(file->file, file);
    Result<void> sent = co_await file->send_windows();
    pushing_.erase(file->file);
    file->close(Errc::closed);
    if (!sent) {
        co_await give_up(file->file, may_resume_after(sent.code()));
        co_return std::move(sent).error();
    }
    CommitIn commit;
    commit.file = file->file;
    commit.synced = mode.sync != Sync::none;
    if (mode.checked) commit.checksum = file->sum.digest();
    seals_.stamp(commit);
    Result<CommitOut> committed = co_await node_.call(commit_rpc, server_, commit, commit_deadline);
    if (!committed) {
        Error error = in_the_middle(std::move(committed).error());
        if (!mode.again || error.code != Errc::exists) co_return error;
        // The commit of the earlier attempt ended while this one was sending.
        auto finding = find_saved(file->source, name, std::move(error));
        co_return co_await std::move(finding);
    }
    Moved moved{open.bytes, file->had_bytes, file->sent_bytes, {}, streams_.usable()};
    if (mode.checked) moved.checksum = file->proven_bytes > 0 ? committed->checksum : commit.checksum;
    co_return moved;
}

// Returns the checksum if both files have the same content.
hl::Task<Result<std::optional<std::uint64_t>>> ClientSession::compare(const SourceFile& source,
                                                                      const std::string& name) {
    Result<Verified> there = co_await verify(name);
    if (!there) co_return std::move(there).error();
    if (there->bytes != source.bytes()) co_return std::optional<std::uint64_t>();
    Result<std::uint64_t> here = co_await sum_here(source);
    if (!here) co_return std::move(here).error();
    if (*here != there->checksum) co_return std::optional<std::uint64_t>();
    co_return std::optional<std::uint64_t>(*here);
}

hl::Task<Result<bool>> ClientSession::has_content(OpenSource open_source, const std::string& name) {
    auto source = co_await disk_.run([&open_source] { return open_source(); });
    if (!source) co_return std::move(source).error();
    Result<std::optional<std::uint64_t>> same = co_await compare(*source, name);
    if (!same) co_return std::move(same).error();
    co_return same->has_value();
}

hl::Task<Result<bool>> ClientSession::was_saved_from(OpenSource open_source, const std::string& name) {
    Result<Seen> there = co_await look(name, {});
    if (!there) co_return std::move(there).error();
    if (there->entry.kind != EntryKind::file || there->stored.state != StoredChecksum::State::good) co_return false;
    auto source = co_await disk_.run([&open_source] { return open_source(); });
    if (!source) co_return std::move(source).error();
    if (source->bytes() != there->entry.bytes) co_return false;
    Result<std::uint64_t> here = co_await sum_here(*source);
    if (!here) co_return std::move(here).error();
    co_return *here == there->stored.checksum;
}

// The name exists: checks whether an earlier attempt completed the save but its answer was lost.
hl::Task<Result<Moved>> ClientSession::find_saved(const SourceFile& source, const std::string& name, Error exists) {
    Result<std::optional<std::uint64_t>> same = co_await compare(source, name);
    if (!same && leaves_unknown(same.code())) co_return std::move(same).error();
    if (!same || !*same) co_return exists;
    co_return Moved{source.bytes(), source.bytes(), 0, *same};
}

hl::Task<Result<std::uint64_t>> ClientSession::sum_here(const SourceFile& source) {
    Share share(*buffers_, part_);
    Checksum sum;
    for (std::uint64_t offset = 0; offset < source.bytes(); offset += window_bytes_) {
        Result<Buffer> buffer = co_await buffers_->take(share);
        if (!buffer) co_return std::move(buffer).error();
        const Bytes content = buffer->bytes().first(std::min(window_bytes_, source.bytes() - offset));
        Result<void> got = co_await disk_.run([&source, &sum, content, offset] {
            auto outcome = source.read(offset, content);
            if (outcome) sum.update(content);
            return outcome;
        });
        if (!got) co_return std::move(got).error();
    }
    co_return sum.digest();
}

// Reads the next windows while the server compares the windows of one claim. Keeps the turn to read until the last
// claim is answered: if the server does not have a window, the checksum of the file is set back to the beginning of
// that window, and reading goes on there.
hl::Task<Result<void>> ClientSession::Sending::claim_windows() {
    const Errc turn = co_await reading.reach(next);
    if (turn == Errc::invalid_argument)
        co_return Error{Errc::protocol, "the server asked for a window of the file before it was sent"};
    if (turn != Errc::ok) co_return turn;
    Result<Claim> claim = co_await read_claim(next, sum);
    while (claim && !claim->in.checksums.empty()) {
        const std::size_t windows = claim->in.checksums.size();
        const std::uint64_t begin = claim->in.offset;
        const std::uint64_t end = std::min(begin + windows * client.window_bytes_, source.bytes());
        auto asking = send_claim(claim->in);
        auto following = read_claim(end, claim->sums.back());
        auto [had, after] = co_await hl::when_all(std::move(asking), std::move(following));
        if (failure) co_return *failure;
        if (!had) co_return std::move(had).error();
        sum = std::move(claim->sums[*had]);
        next = std::min(begin + *had * client.window_bytes_, source.bytes());
        had_bytes += next - begin;
        if (progress && next > begin) progress(next - begin);
        if (*had < windows) break;
        claim = std::move(after);
    }
    if (!claim) co_return std::move(claim).error();
    reading.advance(next);
    passing.advance(next);
    co_return Result<void>();
}

hl::Task<Result<ClientSession::Sending::Claim>> ClientSession::Sending::read_claim(std::uint64_t offset,
                                                                                   Checksum before) {
    Claim claim;
    claim.in.file = file;
    claim.in.offset = offset;
    claim.sums.push_back(std::move(before));
    Result<Buffer> buffer = co_await client.buffers_->take(share);
    if (!buffer) co_return std::move(buffer).error();
    const Bytes scratch = buffer->bytes().first(std::min(buffer->bytes().size(), claimed_piece_bytes));
    const std::uint64_t end = std::min(resumed_bytes, source.bytes());
    // One by one: other files can use the disk in between, and a command that is interrupted waits for one window only.
    while (offset < end && claim.in.checksums.size() < claimed_windows_max && !claims_end) {
        Result<void> got =
            co_await client.disk_.run([this, &claim, offset, scratch] { return sum_claimed(claim, offset, scratch); });
        if (!got) co_return std::move(got).error();
        offset += std::min(client.window_bytes_, end - offset);
    }
    co_return Result<Claim>(std::move(claim));
}

// Runs on a disk thread.
Result<void> ClientSession::Sending::sum_claimed(Claim& claim, std::uint64_t offset, Bytes scratch) const {
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - offset);
    Checksum window;
    Checksum whole = claim.sums.back();
    for (std::uint64_t done = 0; done < bytes;) {
        const auto count = std::min<std::uint64_t>(scratch.size(), bytes - done);
        const Bytes piece = scratch.first(static_cast<std::size_t>(count));
        CINNABAR_TRY_VOID(source.read(offset + done, piece));
        window.update(piece);
        whole.update(piece);
        done += count;
    }
    claim.in.checksums.push_back(window.digest());
    claim.sums.push_back(std::move(whole));
    return {};
}

hl::Task<Result<std::uint32_t>> ClientSession::Sending::send_claim(ClaimIn& in) {
    client.seals_.stamp(in);
    Result<ClaimOut> out = co_await client.node_.call(claim_rpc, client.server_, in, window_deadline);
    claims_end = !out || out->windows < in.checksums.size();
    if (!out) co_return in_the_middle(std::move(out).error());
    if (out->windows > in.checksums.size())
        co_return Error{Errc::protocol, "the server has more windows than were claimed"};
    co_return out->windows;
}

hl::Task<Result<void>> ClientSession::Sending::send_windows() {
    // The holes of a sparse file are not read, so its windows are offered one by one.
    if (resumed_bytes > proven_bytes && mode.checked && !source.sparse()) {
        Result<void> claimed = co_await claim_windows();
        if (!claimed) co_return claimed;
    }
    std::vector<hl::Task<void>> lanes;
    for (std::uint64_t i = 0; i < client.lanes_for(source.bytes()); ++i) lanes.push_back(send_lane());
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (failure) co_return *failure;
    co_return co_await client.disk_.run([this] { return source.settled(); });
}

hl::Task<void> ClientSession::Sending::send_lane() {
    while (!failure && next < source.bytes()) {
        const std::uint64_t offset = next;
        next += client.window_bytes_;
        Result<void> sent = co_await send_window(offset);
        if (!sent) fail(std::move(sent).error());
    }
}

hl::Task<Result<void>> ClientSession::Sending::send_window(std::uint64_t offset) {
    Result<void> sent;
    Result<Holes> holes = co_await pass_hole(offset);
    // Equal checksums of blocks are trusted only if the checksum of the whole file is compared as well.
    const bool holed = holes && *holes == Holes::parts && mode.checked;
    if (!holes) {
        sent = std::move(holes).error();
    } else if (*holes == Holes::all) {
        sent = Result<void>();
    } else if (mode.push && !offers(offset) && !holed) {  // not a conditional expression: gcc 12 destroys awaited
                                                          // temporaries in it twice
        sent = co_await push_window(offset);
    } else {
        sent = co_await lend_window(offset, holed);
    }
    if (sent && progress) progress(std::min(client.window_bytes_, source.bytes() - offset));
    co_return sent;
}

hl::Task<Result<ClientSession::Sending::Holes>> ClientSession::Sending::pass_hole(std::uint64_t offset) {
    if (!source.sparse()) co_return Holes::none;
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - offset);
    if (const Errc turn = co_await reading.reach(offset); turn != Errc::ok) co_return turn;
    WindowIn window;
    const Holes holes = co_await client.disk_.run([this, offset, bytes, &window] {
        if (!source.is_hole(offset, bytes)) return source.has_hole(offset, bytes) ? Holes::parts : Holes::none;
        if (mode.checked) sum.update_zeros(bytes);
        if (mode.checked) window.so_far = sum.digest();
        return Holes::all;
    });
    // Unless the whole window is a hole, leaves the turn at `offset` to the task that reads the window.
    reading.advance(holes == Holes::all ? offset + bytes : offset);
    if (holes != Holes::all) co_return holes;
    window.file = file;
    window.offset = offset;
    window.hole = true;
    if (const Errc turn = co_await passing.reach(offset); turn != Errc::ok) co_return turn;
    const Pace::Pass pass = co_await client.pace_.take();
    passing.advance(offset + bytes);
    if (failure) co_return *failure;
    client.seals_.stamp(window);
    Result<WindowOut> told = co_await client.node_.call(window_rpc, client.server_, window, window_deadline);
    if (!told) co_return in_the_middle(std::move(told).error());
    co_return Holes::all;
}

hl::Task<Result<ClientSession::Sending::Window>> ClientSession::Sending::read_window(std::uint64_t offset) {
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - offset);
    const Errc turn = co_await reading.reach(offset);
    if (turn == Errc::invalid_argument)
        co_return Error{Errc::protocol, "the server asked for a window of the file more than once"};
    if (turn != Errc::ok) co_return turn;
    Result<Buffer> buffer = co_await client.buffers_->take(share);
    if (!buffer) co_return std::move(buffer).error();
    Window window{*std::move(buffer), {}};
    const Bytes content = window.buffer.bytes().first(bytes);
    Result<void> got = co_await client.disk_.run([this, content, offset, &window] {
        auto outcome = source.read(offset, content);
        if (outcome && mode.checked) sum.update(content);
        if (outcome && mode.checked) window.so_far = sum.digest();
        return outcome;
    });
    if (!got) co_return std::move(got).error();
    reading.advance(offset + bytes);
    co_return Result<Window>(std::move(window));
}

hl::Task<Result<void>> ClientSession::Sending::lend_window(std::uint64_t offset, bool holed) {
    Result<Window> read = co_await read_window(offset);
    if (!read) co_return std::move(read).error();
    const Buffer& buffer = read->buffer;
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - offset);
    WindowIn window;
    window.file = file;
    window.offset = offset;
    window.so_far = read->so_far;
    window.window = hl::Bulk(buffer.region().slice(0, bytes), na::Access::read);
    std::uint64_t zeros = 0;
    if (offers(offset) || holed) {
        const ConstBytes content = buffer.bytes().first(bytes);
        zeros = co_await client.disk_.run([this, &window, offset, content, holed] {
            const std::uint64_t in_blocks = holed ? zero_block_bytes(content) : 0;
            if (offset < resumed_bytes) window.checksum = block_checksum(content);
            if (offset < basis_bytes || in_blocks > 0) window.blocks = block_checksums(content, content.size());
            return in_blocks;
        });
    }
    if (const Errc turn = co_await passing.reach(offset); turn != Errc::ok) co_return turn;
    const std::uint64_t moves = offset < resumed_bytes ? 0 : bytes;
    if (const Errc paced = co_await client.keep_rate(moves, failure); paced != Errc::ok) co_return paced;
    const Pace::Pass pass = co_await client.pace_.take();
    passing.advance(offset + bytes);
    if (failure) co_return *failure;
    constexpr auto may_repeat = [] { return true; };
    auto moving = MoreStreams::move_window(client, window_rpc, window, offset < resumed_bytes, failure, may_repeat);
    Result<WindowOut> sent = co_await std::move(moving);
    if (!sent) co_return in_the_middle(std::move(sent).error());
    if (sent->had_bytes > (offers(offset) || zeros > 0 ? bytes : 0))
        co_return Error{Errc::protocol, "the server has more of a window than it was offered"};
    if (sent->had_bytes == 0) MoreStreams::window_moved(client, bytes);
    had_bytes += sent->had_bytes - std::min(sent->had_bytes, zeros);
    sent_bytes += bytes - sent->had_bytes;
    co_return Result<void>();
}

hl::Task<Result<void>> ClientSession::Sending::push_window(std::uint64_t offset) {
    PushIn push;
    push.file = file;
    push.offset = offset;
    if (const Errc turn = co_await passing.reach(offset); turn != Errc::ok) co_return turn;
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - offset);
    if (const Errc paced = co_await client.keep_rate(bytes, failure); paced != Errc::ok) co_return paced;
    const Pace::Pass pass = co_await client.pace_.take();
    passing.advance(offset + bytes);
    if (failure) co_return *failure;
    const auto push_again = [this, offset] { return pushed_again.insert(offset), true; };
    auto moving = MoreStreams::move_window(client, push_rpc, push, false, failure, push_again);
    Result<void> pushed = co_await std::move(moving);
    if (!pushed) co_return failure ? *failure : in_the_middle(std::move(pushed).error());
    if (reading.position() <= offset)
        co_return Error{Errc::protocol, "the server took a window that it did not ask for"};
    MoreStreams::window_moved(client, bytes);
    sent_bytes += bytes;
    co_return pushed;
}

// An earlier call for the same window, over the lost connection, may still have the turn.
hl::Task<Result<void>> ClientSession::Sending::fill_buffer(const FillIn& in) {
    constexpr Microseconds interval = std::chrono::milliseconds(5);
    Errc slept = Errc::ok;
    while (slept == Errc::ok && filling.contains(in.offset) && pushed_again.contains(in.offset))
        slept = co_await client.node_.sleep_for(interval);
    if (slept != Errc::ok) co_return slept;
    const MovingWindows::Entry entry(filling, in.offset);
    if (reading.position() > in.offset && pushed_again.contains(in.offset)) co_return co_await fill_again(in);
    Result<Window> window = co_await read_window(in.offset);
    if (!window) {
        fail(window.error());
        co_return std::move(window).error();
    }
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - in.offset);
    auto pushing = push_into(in, window->buffer.region().slice(0, bytes));
    co_return co_await std::move(pushing);
}

// Does not add the window to the checksum of the file, which has it already.
hl::Task<Result<void>> ClientSession::Sending::fill_again(const FillIn& in) {
    Share own(*client.buffers_, client.part_);  // in the share of the file, only the task whose turn it is may wait
    Result<Buffer> buffer = co_await client.buffers_->take(own);
    if (!buffer) co_return std::move(buffer).error();
    const std::uint64_t bytes = std::min(client.window_bytes_, source.bytes() - in.offset);
    const Bytes content = buffer->bytes().first(bytes);
    Result<void> got = co_await client.disk_.run([this, &in, content] { return source.read(in.offset, content); });
    if (!got) fail(got.error());
    if (!got) co_return got;
    auto pushing = push_into(in, buffer->region().slice(0, bytes));
    co_return co_await std::move(pushing);
}

hl::Task<Result<void>> ClientSession::fill(hl::Request<FillIn> request) {
    const Inside::Entry inside(inside_);
    if (auto sealed = seals_.check(*request); !sealed) co_return to_remote(sealed.error());
    const auto found = pushing_.find(request->file);
    if (found == pushing_.end()) co_return to_remote(Error{Errc::not_found, "no such file is being pushed"});
    const auto file = found->second;
    const std::uint64_t offset = request->offset;
    if (offset >= file->source.bytes() || offset % window_bytes_ != 0)
        co_return to_remote(Error{Errc::invalid_argument, "the file has no such window"});
    Result<void> filled = co_await file->fill_buffer(*request);
    if (filled) co_return filled;
    // If the fill call was canceled, the server no longer needs the window or is lost; the push call reports the
    // reason. A window that was not moved over a connection other than the first one is pushed again.
    const bool is_over = filled.error().code == Errc::canceled || request.source().body().parallel != 0;
    if (!is_over) file->fail(filled.error());
    co_return to_remote(filled.error());
}

}  // namespace cinnabar::files
