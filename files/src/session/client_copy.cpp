// SPDX-License-Identifier: BSD-3-Clause
// How a client directs the copy of a file between two servers. For each window it asks one server to lend it, and
// passes the lent memory on to the other, which pulls the bytes from the first.
#include "session/client_session.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/files/file_error.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Names the server in errors, since both would otherwise be "the server".
struct CopySide {
    std::string_view says;
    std::string_view lost;
};
constexpr CopySide copied_from{"the source server says", "the source server is lost, or does not answer"};
constexpr CopySide copied_to{"the destination server says", "the destination server is lost, or does not answer"};

Error side_error(const CopySide& side, Error error, const na::Addr& server) {
    switch (error.code) {
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::timed_out:
            if (error.hint == server_says) break;
            if (error.code == Errc::refused) error.code = Errc::peer_lost;  // its session had begun, so it was there
            error.hint = side.lost;
            error.subject = server.to_string();
            return error;
        default:
            break;
    }
    if (error.hint == server_says) error.hint = side.says;
    return error;
}

Error call_error(const CopySide& side, Error error, const na::Addr& server) {
    return side_error(side, from_remote(std::move(error)), server);
}

}  // namespace

// A file that is being copied. The lanes and the take calls share it; it lives in the task that started them.
struct ClientSession::Copying {
    struct Lent {
        bool taken = false;  // passed on to the other server
        bool written = false;
        std::uint64_t had_bytes = 0;
    };
    ClientSession& to;
    std::uint64_t from_file;
    std::uint64_t to_file;
    std::uint64_t bytes;
    std::uint64_t resumed_bytes;  // that the target already had, or claims to have had
    std::uint64_t basis_bytes;    // the same, in an older version
    bool sparse;
    BytesMoved progress;
    std::uint64_t had_bytes = 0;
    std::uint64_t sent_bytes = 0;
    Sequence passing{};                    // windows are requested in the order of the file
    std::map<std::uint64_t, Lent> lent{};  // requested windows, by offset
    std::uint64_t next = 0;
    std::optional<Error> failure{};
    std::stop_source stop{};  // stops the window calls: a lending server may be silent and never end its take calls

    void fail(Error why) {
        if (failure) return;
        failure = std::move(why);
        passing.close(failure->code);
        stop.request_stop();
    }
    [[nodiscard]] std::uint64_t window_at(std::uint64_t offset) const {
        return std::min(to.window_bytes_, bytes - offset);
    }
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
        Result<Moved> copied = co_await find_copied(name, to, as);
        if (copied) co_return copied;
        co_return std::move(opened).error();
    }
    const std::shared_ptr<Copying> file(new Copying{to, asked->file, opened->file, asked->bytes, opened->resumed_bytes,
                                                    compares ? opened->basis_bytes : 0, asked->sparse,
                                                    std::move(progress)});
    copying_.emplace(file->from_file, file);
    Result<void> copied = co_await copy_windows(*file);
    copying_.erase(file->from_file);
    if (!copied) {
        co_await give_up(file->from_file);
        co_await to.give_up(file->to_file, may_resume_after(copied.code()));
        co_return std::move(copied).error();
    }
    Result<std::uint64_t> checksum = co_await finish_copy(*file, mode.sync);
    if (!checksum) co_return std::move(checksum).error();
    co_return Moved{file->bytes, file->had_bytes, file->sent_bytes, *checksum};
}

// Finds a file that was copied before the answer got lost.
hl::Task<Result<Moved>> ClientSession::find_copied(const std::string& name, ClientSession& to, const std::string& as) {
    Result<Verified> here = co_await verify(name);
    if (!here) co_return std::move(here).error();
    Result<Verified> there = co_await to.verify(as);
    if (!there) co_return std::move(there).error();
    if (here->bytes != there->bytes || here->checksum != there->checksum) co_return Errc::exists;
    co_return Moved{there->bytes, there->bytes, 0, there->checksum};
}

hl::Task<Result<void>> ClientSession::copy_windows(Copying& file) {
    std::vector<hl::Task<void>> lanes;
    const auto count = std::min<std::uint64_t>(windows_max_, file.to.lanes_for(file.bytes));
    for (std::uint64_t i = 0; i < count; ++i) lanes.push_back(copy_lane(file));
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (file.failure) co_return *file.failure;
    co_return Result<void>();
}

hl::Task<void> ClientSession::copy_lane(Copying& file) {
    while (!file.failure && file.next < file.bytes) {
        const std::uint64_t offset = file.next;
        file.next += file.to.window_bytes_;
        Result<void> copied = co_await copy_window(file, offset);
        if (!copied) file.fail(std::move(copied).error());
        if (copied && file.progress) file.progress(file.window_at(offset));
    }
}

hl::Task<Result<void>> ClientSession::copy_window(Copying& file, std::uint64_t offset) {
    LendIn lend;
    lend.file = file.from_file;
    lend.offset = offset;
    lend.bytes = file.window_at(offset);
    lend.offered = offset < file.resumed_bytes;
    lend.compares = offset < file.basis_bytes;
    if (const Errc turn = co_await file.passing.reach(offset); turn != Errc::ok) co_return turn;
    const std::uint64_t moves = lend.offered ? 0 : lend.bytes;
    if (const Errc paced = co_await file.to.keep_rate(moves, file.failure); paced != Errc::ok) co_return paced;
    const Pace::Pass pass = co_await file.to.pace_.take();
    file.passing.advance(offset + lend.bytes);
    if (file.failure) co_return *file.failure;
    file.lent.emplace(offset, Copying::Lent{});
    seals_.stamp(lend);
    Result<LendOut> lent = co_await node_.call(lend_rpc, server_, lend, window_deadline);
    const Copying::Lent what = file.lent.extract(offset).mapped();
    if (file.failure) co_return *file.failure;
    if (!lent) co_return call_error(copied_from, std::move(lent).error(), server_);
    if (lent->hole ? !file.sparse || what.taken : !what.written)
        co_return Error{Errc::protocol, "the server's description of a window is impossible"};
    if (what.had_bytes > (lend.offered || lend.compares ? lend.bytes : 0))
        co_return Error{Errc::protocol, "the server has more of a window than it was offered"};
    file.had_bytes += what.had_bytes;
    if (!lent->hole) file.sent_bytes += lend.bytes - what.had_bytes;
    if (!lent->hole) co_return Result<void>();
    co_return co_await pass_copied_hole(file, offset);
}

hl::Task<Result<void>> ClientSession::pass_copied_hole(Copying& file, std::uint64_t offset) {
    ClientSession& to = file.to;
    WindowIn window;
    window.file = file.to_file;
    window.offset = offset;
    window.hole = true;
    to.seals_.stamp(window);
    Result<WindowOut> told = co_await to.node_.call(window_rpc, to.server_, window, window_deadline);
    if (!told) co_return call_error(copied_to, std::move(told).error(), to.server_);
    co_return Result<void>();
}

// One server reports the checksum of what it read; the other compares it with what it has written.
hl::Task<Result<std::uint64_t>> ClientSession::finish_copy(Copying& file, Sync sync) {
    ClientSession& to = file.to;
    FinishIn finish;
    finish.file = file.from_file;
    seals_.stamp(finish);
    Result<FinishOut> finished = co_await node_.call(finish_rpc, server_, finish, open_deadline);
    if (!finished) {
        Error error = call_error(copied_from, std::move(finished).error(), server_);
        co_await to.give_up(file.to_file, may_resume_after(error.code));
        co_return error;
    }
    CommitIn commit;
    commit.file = file.to_file;
    commit.checksum = finished->checksum;
    commit.synced = sync != Sync::none;
    to.seals_.stamp(commit);
    Result<void> committed = co_await to.node_.call(commit_rpc, to.server_, commit, commit_deadline);
    if (!committed) co_return call_error(copied_to, std::move(committed).error(), to.server_);
    co_return finished->checksum;
}

hl::Task<Result<void>> ClientSession::take(hl::Request<TakeIn> request) {
    const Inside::Entry here(inside_);
    if (auto sealed = seals_.check(*request); !sealed) co_return to_remote(sealed.error());
    const auto found = copying_.find(request->file);
    if (found == copying_.end()) co_return to_remote(Error{Errc::not_found, "no such file is being copied"});
    const auto file = found->second;
    const Inside::Entry there(file->to.inside_);
    Result<void> handed = co_await hand_on(*file, *request);
    if (handed) co_return handed;
    // A canceled take call means that the server no longer needs it, or is lost: the lend call reports the reason.
    if (handed.code() != Errc::canceled) file->fail(handed.error());
    co_return to_remote(handed.error());
}

hl::Task<Result<void>> ClientSession::hand_on(Copying& file, const TakeIn& in) {
    const auto asked = file.lent.find(in.offset);
    if (asked == file.lent.end() || asked->second.taken || in.window.size() != file.window_at(in.offset))
        co_return Error{Errc::protocol, "the server lent a window of the file that was not requested"};
    asked->second.taken = true;
    ClientSession& to = file.to;
    WindowIn window;
    window.file = file.to_file;
    window.offset = in.offset;
    window.window = in.window;
    if (in.offset < file.resumed_bytes) window.checksum = in.checksum;
    if (in.offset < file.basis_bytes) window.blocks = in.blocks;
    to.seals_.stamp(window);
    const std::stop_token stop = file.stop.get_token();
    const hl::CallOptions options{.deadline = handed_on_deadline, .stop = &stop};
    Result<WindowOut> sent = co_await to.node_.call(window_rpc, to.server_, window, options);
    if (!sent) co_return call_error(copied_to, std::move(sent).error(), to.server_);
    // The lane that asked for it may have given up waiting.
    if (const auto still = file.lent.find(in.offset); still != file.lent.end()) {
        still->second.written = true;
        still->second.had_bytes = sent->had_bytes;
    }
    co_return Result<void>();
}

}  // namespace cinnabar::files
