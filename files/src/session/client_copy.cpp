// SPDX-License-Identifier: BSD-3-Clause
// Copies a file between two servers. For each window, the client asks the source server to lend it, and forwards the
// lent memory to the destination server, which pulls the data from the source.
#include "file/blocks.hpp"
#include "session/client_session.hpp"
#include "session/copy_side.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

namespace cinnabar::files {

// A file being copied. Shared by the lanes and the take calls; lives in the task that started them.
struct ClientSession::Copying {
    struct Lent {
        bool taken = false;  // forwarded to the destination server
        bool written = false;
        std::uint64_t had_bytes = 0;
        std::uint64_t zeros = 0;  // how much of it lies in blocks of zeros
    };
    ClientSession& client;  // session with the source server
    ClientSession& to;
    std::uint64_t from_file;
    std::uint64_t to_file;
    std::uint64_t bytes;
    std::uint64_t resumed_bytes;  // bytes that the destination already had, as it claims
    std::uint64_t basis_bytes;    // the same, from an older version
    bool sparse;
    BytesMoved progress;
    std::uint64_t had_bytes = 0;
    std::uint64_t sent_bytes = 0;
    Sequence passing{};                    // windows are requested in the order of the file
    std::map<std::uint64_t, Lent> lent{};  // requested windows, by offset
    std::uint64_t next = 0;
    std::optional<Error> failure{};
    std::stop_source stop{};  // stops the window calls, because a silent source server may never end its take calls

    void fail(Error why) {
        if (failure) return;
        failure = std::move(why);
        passing.close(failure->code);
        stop.request_stop();
    }
    [[nodiscard]] std::uint64_t window_at(std::uint64_t offset) const {
        return std::min(to.window_bytes_, bytes - offset);
    }

    [[nodiscard]] hl::Task<Result<void>> copy_windows();
    [[nodiscard]] hl::Task<void> copy_lane();
    [[nodiscard]] hl::Task<Result<void>> copy_window(std::uint64_t offset);
    [[nodiscard]] hl::Task<Result<void>> pass_hole(std::uint64_t offset);
    // The source server reports the checksum of what it read; the destination compares it with what it wrote.
    [[nodiscard]] hl::Task<Result<std::uint64_t>> finish(Sync sync);
    // Forwards a window lent by the source to the destination.
    [[nodiscard]] hl::Task<Result<void>> hand_on(const TakeIn& in);
};

hl::Task<Result<OpenOut>> ClientSession::open_copy(OpenIn open) {
    seals_.stamp(open);
    auto opened = co_await node_.call(open_rpc, server_, open, open_deadline);
    if (!opened) co_return call_error(copied_to, std::move(opened).error(), server_);
    co_return opened;
}

hl::Task<Result<Moved>> ClientSession::copy(const std::string& name, ClientSession& to, const std::string& as,
                                            CopyMode mode, BytesMoved progress,
                                            std::function<void(std::uint64_t)> announced) {
    if (to.window_bytes_ > window_bytes_)
        co_return Error{Errc::unsupported, "the source server moves smaller windows than the other one"};
    Result<AskOut> asked = co_await ask_for(name, mode.extended);
    if (!asked) co_return side_error(copied_from, std::move(asked).error(), server_);
    if (announced) announced(asked->bytes);
    OpenIn open;
    open.name = as;
    open.bytes = asked->bytes;
    open.attributes = asked->attributes;
    open.exact = mode.exact;
    open.sparse = asked->sparse;
    open.replace = mode.existing == Existing::replace;
    open.compares = compares_blocks(mode.existing, mode.whole, open.bytes);
    const bool compares = open.compares;
    auto opening = to.open_copy(std::move(open));
    Result<OpenOut> opened = co_await std::move(opening);
    if (!opened) {
        co_await give_up(asked->file);
        if (!mode.again || opened.code() != Errc::exists) co_return std::move(opened).error();
        auto finding = find_copied(name, to, as, std::move(opened).error());
        co_return co_await std::move(finding);
    }
    const std::shared_ptr<Copying> file(new Copying{*this, to, asked->file, opened->file, asked->bytes,
                                                    opened->resumed_bytes, compares ? opened->basis_bytes : 0,
                                                    asked->sparse, std::move(progress)});
    copying_.emplace(file->from_file, file);
    Result<void> copied = co_await file->copy_windows();
    copying_.erase(file->from_file);
    if (!copied) {
        co_await give_up(file->from_file);
        co_await to.give_up(file->to_file, may_resume_after(copied.code()));
        co_return std::move(copied).error();
    }
    Result<std::uint64_t> checksum = co_await file->finish(mode.sync);
    if (!checksum) {
        if (!mode.again || checksum.code() != Errc::exists) co_return std::move(checksum).error();
        // The commit of the earlier attempt ended while this one was sending.
        auto finding = find_copied(name, to, as, std::move(checksum).error());
        co_return co_await std::move(finding);
    }
    co_return Moved{file->bytes, file->had_bytes, file->sent_bytes, *checksum};
}

// The file exists: checks whether an earlier attempt completed the copy but its answer was lost.
hl::Task<Result<Moved>> ClientSession::find_copied(const std::string& name, ClientSession& to, const std::string& as,
                                                   Error exists) {
    Result<Verified> here = co_await verify(name);
    if (!here) co_return std::move(here).error();
    Result<Verified> there = co_await to.verify(as);
    if (!there && leaves_unknown(there.code())) co_return std::move(there).error();
    if (!there || here->bytes != there->bytes || here->checksum != there->checksum) co_return exists;
    co_return Moved{there->bytes, there->bytes, 0, there->checksum};
}

hl::Task<Result<void>> ClientSession::Copying::copy_windows() {
    std::vector<hl::Task<void>> lanes;
    const auto count = std::min<std::uint64_t>(client.windows_max_, to.lanes_for(bytes));
    for (std::uint64_t i = 0; i < count; ++i) lanes.push_back(copy_lane());
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (failure) co_return *failure;
    co_return Result<void>();
}

hl::Task<void> ClientSession::Copying::copy_lane() {
    while (!failure && next < bytes) {
        const std::uint64_t offset = next;
        next += to.window_bytes_;
        Result<void> copied = co_await copy_window(offset);
        if (!copied) fail(std::move(copied).error());
        if (copied && progress) progress(window_at(offset));
    }
}

hl::Task<Result<void>> ClientSession::Copying::copy_window(std::uint64_t offset) {
    LendIn lend;
    lend.file = from_file;
    lend.offset = offset;
    lend.bytes = window_at(offset);
    lend.offered = offset < resumed_bytes;
    lend.compares = offset < basis_bytes || sparse;
    if (const Errc turn = co_await passing.reach(offset); turn != Errc::ok) co_return turn;
    const std::uint64_t moves = lend.offered ? 0 : lend.bytes;
    if (const Errc paced = co_await to.keep_rate(moves, failure); paced != Errc::ok) co_return paced;
    const Pace::Pass pass = co_await to.pace_.take();
    passing.advance(offset + lend.bytes);
    if (failure) co_return *failure;
    lent.emplace(offset, Lent{});
    client.seals_.stamp(lend);
    Result<LendOut> lending = co_await client.node_.call(lend_rpc, client.server_, lend, window_deadline);
    const Lent what = lent.extract(offset).mapped();
    if (failure) co_return *failure;
    if (!lending) co_return call_error(copied_from, std::move(lending).error(), client.server_);
    if (lending->hole ? !sparse || what.taken : !what.written)
        co_return Error{Errc::protocol, "the server's description of a window is impossible"};
    if (what.had_bytes > (lend.offered || lend.compares ? lend.bytes : 0))
        co_return Error{Errc::protocol, "the server has more of a window than it was offered"};
    had_bytes += what.had_bytes - std::min(what.had_bytes, what.zeros);
    if (!lending->hole) sent_bytes += lend.bytes - what.had_bytes;
    if (!lending->hole) co_return Result<void>();
    co_return co_await pass_hole(offset);
}

hl::Task<Result<void>> ClientSession::Copying::pass_hole(std::uint64_t offset) {
    WindowIn window;
    window.file = to_file;
    window.offset = offset;
    window.hole = true;
    to.seals_.stamp(window);
    Result<WindowOut> told = co_await to.node_.call(window_rpc, to.server_, window, window_deadline);
    if (!told) co_return call_error(copied_to, std::move(told).error(), to.server_);
    co_return Result<void>();
}

hl::Task<Result<std::uint64_t>> ClientSession::Copying::finish(Sync sync) {
    FinishIn in;
    in.file = from_file;
    client.seals_.stamp(in);
    Result<FinishOut> finished = co_await client.node_.call(finish_rpc, client.server_, in, open_deadline);
    if (!finished) {
        Error error = call_error(copied_from, std::move(finished).error(), client.server_);
        co_await to.give_up(to_file, may_resume_after(error.code));
        co_return error;
    }
    CommitIn commit;
    commit.file = to_file;
    commit.checksum = finished->checksum;
    commit.synced = sync != Sync::none;
    to.seals_.stamp(commit);
    Result<CommitOut> committed = co_await to.node_.call(commit_rpc, to.server_, commit, commit_deadline);
    if (!committed) co_return call_error(copied_to, std::move(committed).error(), to.server_);
    co_return finished->checksum;
}

hl::Task<Result<void>> ClientSession::Copying::hand_on(const TakeIn& in) {
    const auto asked = lent.find(in.offset);
    if (asked == lent.end() || asked->second.taken || in.window.size() != window_at(in.offset))
        co_return Error{Errc::protocol, "the server lent a window of the file that was not requested"};
    asked->second.taken = true;
    WindowIn window;
    window.file = to_file;
    window.offset = in.offset;
    window.window = in.window;
    if (in.offset < resumed_bytes) window.checksum = in.checksum;
    // The destination makes the blocks of zeros of a sparse file itself, and leaves them out as holes.
    const std::uint64_t zeros = sparse ? zero_bytes_by(in.blocks, in.window.size()) : 0;
    asked->second.zeros = zeros;
    if (in.offset < basis_bytes || zeros > 0) window.blocks = in.blocks;
    to.seals_.stamp(window);
    const std::stop_token token = stop.get_token();
    const hl::CallOptions options{.deadline = handed_on_deadline, .stop = &token};
    Result<WindowOut> sent = co_await to.node_.call(window_rpc, to.server_, window, options);
    if (!sent) co_return call_error(copied_to, std::move(sent).error(), to.server_);
    // The lane that requested the window may have given up waiting.
    if (const auto still = lent.find(in.offset); still != lent.end()) {
        still->second.written = true;
        still->second.had_bytes = sent->had_bytes;
    }
    co_return Result<void>();
}

hl::Task<Result<void>> ClientSession::take(hl::Request<TakeIn> request) {
    const Inside::Entry here(inside_);
    if (auto sealed = seals_.check(*request); !sealed) co_return to_remote(sealed.error());
    const auto found = copying_.find(request->file);
    if (found == copying_.end()) co_return to_remote(Error{Errc::not_found, "no such file is being copied"});
    const auto file = found->second;
    const Inside::Entry there(file->to.inside_);
    Result<void> handed = co_await file->hand_on(*request);
    if (handed) co_return handed;
    // If the take call was canceled, the server no longer needs it or is lost; the lend call reports the reason.
    if (handed.code() != Errc::canceled) file->fail(handed.error());
    co_return to_remote(handed.error());
}

}  // namespace cinnabar::files
