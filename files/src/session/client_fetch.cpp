// SPDX-License-Identifier: BSD-3-Clause
// Fetches a file: the server writes windows into buffers of the client.
#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "file/journal.hpp"
#include "session/client_session.hpp"
#include "session/more_streams.hpp"
#include "session/remote_error.hpp"
#include "session/waiting.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cinnabar::files {

// A file that is being received.
struct ClientSession::Receiving {
    ClientSession& client;
    NewFile target;
    std::uint64_t file;
    std::uint64_t bytes;
    bool sparse;
    BytesMoved progress;
    Share share;
    std::optional<SourceFile> basis{};  // the older version
    Sequence taking{};
    Sequence passing{};  // see Sending
    Sequence writing{};
    Checksum sum{};
    std::uint64_t next = 0;
    std::uint64_t had_bytes = 0;  // bytes that were already here and equal the server's
    std::uint64_t sent_bytes = 0;
    std::optional<Error> failure{};

    void fail(Error why) {
        if (failure) return;
        failure = std::move(why);
        taking.close(failure->code);
        passing.close(failure->code);
        share.close(failure->code);
        writing.close(failure->code);
    }

    [[nodiscard]] hl::Task<Result<void>> receive_windows();
    [[nodiscard]] hl::Task<void> receive_lane();
    [[nodiscard]] hl::Task<Result<void>> receive_window(std::uint64_t offset);
    // Offers the server the bytes that an interrupted attempt left. Where the attempt left none, offers the bytes of
    // the older version; past the end of the older version, offers zeros if the file is sparse.
    void offer(ReadIn& read, Bytes content) const;
    // Writes the received bytes. Does not rewrite bytes that remain from an earlier attempt, unless those remains turn
    // out to belong to another file.
    [[nodiscard]] Result<void> take_in(const ReadIn& read, ConstBytes content, const ReadOut& arrived);
};

hl::Task<Result<AskOut>> ClientSession::ask_for(const std::string& name, ExtendedKinds extended) {
    AskIn ask;
    ask.name = name;
    ask.extended = extended;
    seals_.stamp(ask);
    auto asked = co_await node_.call(ask_rpc, server_, ask, open_deadline);
    if (!asked) co_return from_remote(std::move(asked).error());
    if (asked->bytes > file_bytes_max || !can_be(asked->attributes, extended)) {
        co_await give_up(asked->file);
        co_return Error{Errc::protocol, "the server's description of the file is impossible", printable(name)};
    }
    co_return asked;
}

hl::Task<Result<Moved>> ClientSession::fetch(const std::string& name, const Root& into, FetchMode mode,
                                             BytesMoved progress, std::function<void(std::uint64_t)> announced) {
    Result<AskOut> asked = co_await ask_for(name, mode.extended);
    if (!asked) co_return std::move(asked).error();
    if (mode.listed_bytes && asked->bytes > *mode.listed_bytes) {
        co_await give_up(asked->file);
        co_return Error{Errc::bad_checksum,
                        "the server offers more bytes than it listed: if the file has grown since, repeat the command",
                        printable(name)};
    }
    if (mode.as.empty()) mode.as = leaf_of(name);
    auto target = co_await disk_.run([&]() -> Result<NewFile> {
        Resumable resumable;
        resumable.sparse = asked->sparse;
        if (asked->bytes / window_bytes_ >= resumed_windows_min)
            resumable.block_bytes = static_cast<std::uint32_t>(window_bytes_);
        CINNABAR_TRY(auto made, into.create(mode.as, asked->bytes, asked->attributes.mode, mode.existing, resumable));
        if (mode.exact) made.keep(asked->attributes);
        return made;
    });
    if (!target) {
        co_await give_up(asked->file);
        co_return std::move(target).error();
    }
    if (announced) announced(asked->bytes);
    Receiving file{*this,
                   *std::move(target),
                   asked->file,
                   asked->bytes,
                   asked->sparse,
                   std::move(progress),
                   Share(*buffers_, part_)};
    if (compares_blocks(mode.existing, mode.whole, asked->bytes)) {
        auto basis = co_await disk_.run([&into, &mode] { return into.open_source(mode.as); });
        if (basis) file.basis.emplace(*std::move(basis));
    }
    Result<void> received = co_await file.receive_windows();
    Result<FinishOut> finished = FinishOut{};
    if (received) {
        FinishIn finish;
        finish.file = file.file;
        seals_.stamp(finish);
        finished = co_await node_.call(finish_rpc, server_, finish, open_deadline);
        if (!finished) received = in_the_middle(std::move(finished).error());
    }
    if (!received) {
        if (may_resume_after(received.code())) {
            (void)co_await disk_.run([&file] {
                file.target.park();
                return true;
            });
        }
        co_await give_up(file.file);
        co_return std::move(received).error();
    }
    if (finished->checksum != file.sum.digest())
        co_return Error{Errc::bad_checksum, "the checksum of the received data is wrong", printable(name)};
    Result<void> committed = co_await disk_.run([&file, &mode] { return file.target.commit({}, mode.sync); });
    if (!committed) co_return std::move(committed).error();
    co_return Moved{file.bytes, file.had_bytes, file.sent_bytes, finished->checksum, streams_.usable()};
}

hl::Task<Result<void>> ClientSession::Receiving::receive_windows() {
    std::vector<hl::Task<void>> lanes;
    for (std::uint64_t i = 0; i < client.lanes_for(bytes); ++i) lanes.push_back(receive_lane());
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (failure) co_return *failure;
    if (writing.position() != bytes) co_return Error{Errc::protocol, "not all of the file was written"};
    co_return Result<void>();
}

hl::Task<void> ClientSession::Receiving::receive_lane() {
    while (!failure && next < bytes) {
        const std::uint64_t offset = next;
        next += client.window_bytes_;
        Result<void> received = co_await receive_window(offset);
        if (!received) fail(std::move(received).error());
    }
}

hl::Task<Result<void>> ClientSession::Receiving::receive_window(std::uint64_t offset) {
    const std::uint64_t count = std::min(client.window_bytes_, bytes - offset);
    if (const Errc turn = co_await taking.reach(offset); turn != Errc::ok) co_return turn;
    Result<Buffer> buffer = co_await client.buffers_->take(share);
    if (!buffer) co_return std::move(buffer).error();
    taking.advance(offset + count);
    const Bytes content = buffer->bytes().first(count);
    ReadIn read;
    read.file = file;
    read.offset = offset;
    read.window = hl::Bulk(buffer->region().slice(0, count), na::Access::write);
    if (offset < target.resumed_bytes() || basis || sparse) {
        (void)co_await client.disk_.run([this, &read, content] {
            offer(read, content);
            return true;
        });
    }
    Result<ReadOut> arrived = ReadOut{};
    {
        if (const Errc turn = co_await passing.reach(offset); turn != Errc::ok) co_return turn;
        const std::uint64_t moves = read.offered ? 0 : count;
        if (const Errc paced = co_await client.keep_rate(moves, failure); paced != Errc::ok) co_return paced;
        const Pace::Pass pass = co_await client.pace_.take();
        passing.advance(offset + count);
        if (failure) co_return *failure;
        // The server may still write into the buffer if its end of a lost connection could not be closed.
        const auto may_repeat = [&buffer] { return !buffer->region().quarantined(); };
        auto moving = MoreStreams::move_window(client, read_rpc, read, false, failure, may_repeat);
        arrived = co_await std::move(moving);
    }
    if (!arrived) co_return in_the_middle(std::move(arrived).error());
    if (arrived->had_bytes == 0 && !arrived->hole) MoreStreams::window_moved(client, count);
    const std::uint64_t offered = read.offered || !read.blocks.empty() ? count : 0;
    if ((arrived->hole && !sparse) || arrived->had_bytes > (arrived->hole ? 0 : offered))
        co_return Error{Errc::protocol, "the server's description of a window is impossible"};
    if (const Errc turn = co_await writing.reach(offset); turn != Errc::ok) co_return turn;
    std::uint64_t zeros = 0;
    Result<void> written = co_await client.disk_.run([&] {
        if (sparse && !read.blocks.empty() && !arrived->hole) zeros = zero_block_bytes(content);
        return take_in(read, content, *arrived);
    });
    if (!written) co_return written;
    if (auto journal = target.due_journal()) client.disk_.start([journal] { journal->checkpoint(); });
    had_bytes += arrived->had_bytes - std::min(arrived->had_bytes, zeros);
    if (!arrived->hole) sent_bytes += count - arrived->had_bytes;
    writing.advance(offset + count);
    if (progress) progress(count);
    co_return written;
}

void ClientSession::Receiving::offer(ReadIn& read, Bytes content) const {
    if (const auto had = target.read_block(read.offset, content)) {
        read.offered = true;
        read.checksum = *had;
        return;
    }
    const std::size_t have = basis ? basis->read_some(read.offset, content) : 0;
    if (sparse) std::ranges::fill(content.subspan(have), std::byte{0});
    if (sparse && have == 0) {
        read.blocks = zero_block_checksums(content.size());
    } else {
        read.blocks = block_checksums(sparse ? content : content.first(have), content.size());
    }
}

// Writes the window unless the server has confirmed the bytes that an interrupted attempt left. If those bytes were
// damaged, they were not offered. Then the window is written even if the server sent nothing, because `content` is from
// the older version, or all zeros.
Result<void> ClientSession::Receiving::take_in(const ReadIn& read, ConstBytes content, const ReadOut& arrived) {
    if (arrived.hole) {
        sum.update_zeros(content.size());
        return target.leave_out(read.offset, content.size());
    }
    sum.update(content);
    const bool same = read.offered && arrived.had_bytes == content.size();
    if (same && read.offset < target.resumed_bytes()) return {};
    return target.write(read.offset, content);
}

}  // namespace cinnabar::files
