// SPDX-License-Identifier: BSD-3-Clause
#include "session/client_session.hpp"

#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "file/journal.hpp"
#include "session/remote_error.hpp"
#include "session/waiting.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// The most memory that a server can make this client use: window size times buffers.
constexpr std::uint64_t buffer_bytes_max = 64u << 20;
constexpr std::uint32_t buffers_wanted = 24;
constexpr std::uint32_t windows_max_allowed = 32;
constexpr unsigned disk_threads = 2;
constexpr std::uint32_t packs_max = 2;

hl::CallOptions within(Microseconds deadline) {
    hl::CallOptions options;
    options.deadline = deadline;
    return options;
}

// The error of a call that was made while a file was under way. The server was there a moment ago, so a refused
// connection means that it has gone.
Error in_the_middle(Error error) {
    error = from_remote(std::move(error));
    if (error.code != Errc::refused) return error;
    error.code = Errc::peer_lost;
    error.hint = "the server has gone while a file was under way: start it and repeat the command";
    return error;
}

// Smaller files are packed, or are sent as fast as they are compared.
template <typename Mode>
bool compares(const Mode& mode, std::uint64_t bytes) {
    return mode.existing == Existing::replace && mode.checked && !mode.whole && bytes > small_file_bytes_max;
}

}  // namespace

// A file that is being sent. The lanes that send its windows share it; it lives in the task that started them.
struct ClientSession::Sending {
    SourceFile source;
    std::uint64_t file;
    SaveMode mode;
    BytesMoved progress;
    Share share;
    std::uint64_t resumed_bytes;  // which the server has from before, or so it says
    std::uint64_t basis_bytes;    // the same, in an older version
    std::uint64_t had_bytes = 0;  // and did not take again
    std::uint64_t sent_bytes = 0;
    Sequence reading{};
    Sequence passing{};  // windows get their Pass in the order of the file: the server handles them in that order
    Checksum sum{};
    std::uint64_t next = 0;
    std::optional<Error> failure{};

    void fail(Error why) {
        if (failure) return;
        failure = std::move(why);
        close(failure->code);
    }
    [[nodiscard]] bool offers(std::uint64_t offset) const { return offset < std::max(resumed_bytes, basis_bytes); }
    // Lets go of fill calls that wait for their turn.
    void close(Errc why) {
        reading.close(why);
        passing.close(why);
        share.close(why);
    }
};

// A file that is being received.
struct ClientSession::Receiving {
    NewFile target;
    std::uint64_t file;
    std::uint64_t bytes;
    bool sparse;
    BytesMoved progress;
    Share share;
    std::optional<SourceFile> basis{};  // the older version
    Sequence taking{};
    Sequence passing{};  // as of Sending
    Sequence writing{};
    Checksum sum{};
    std::uint64_t next = 0;
    std::uint64_t had_bytes = 0;  // from before, and the server has the same
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
};

ClientSession::ClientSession(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless)
    : node_(node),
      server_(std::move(server)),
      key_(key),
      keyless_(keyless),
      scope_(node),
      disk_(disk_threads),
      pace_(buffers_wanted),
      packs_(packs_max) {}

hl::Task<Result<LoginOut>> ClientSession::log_in() {
    HelloIn hello;
    hello.version = protocol_version;
    hello.nonce = make_nonce();
    auto greeted = co_await node_.call(hello_rpc, server_, hello, within(session_deadline));
    if (!greeted) co_return from_remote(std::move(greeted).error());
    if (greeted->wants_key && !key_)
        co_return Error{
            Errc::permission,
            "the server wants a key: give --key-file (without one, a server lets in its own user on its own "
            "host only)"};
    if (!greeted->wants_key && !key_ && keyless_ == Keyless::refused)
        co_return Error{Errc::permission,
                        "the server wants no key, and every user of this host can listen there: give --key-file, or "
                        "--insecure if that is meant"};
    if (!greeted->wants_key && keyless_ == Keyless::proven) key_ = nullptr;
    if (!greeted->wants_key && key_)
        co_return Error{Errc::permission, "the server has no key, so it is not the one that the key is for"};
    const Nonce nonce = greeted->challenge.nonce;
    LoginIn login;
    login.nonce = hello.nonce;
    login.challenge = greeted->challenge;
    if (key_) login.proof = key_->prove_client(hello.nonce, nonce);
    auto admitted = co_await node_.call(login_rpc, server_, login, within(session_deadline));
    if (!admitted) co_return from_remote(std::move(admitted).error());
    const LoginOut& out = *admitted;
    const Admission admission{hello.nonce, nonce, out.token, out.window_bytes, out.windows_max};
    if (key_ && !key_->accepts_server(out.proof, admission))
        co_return Error{Errc::permission, "the server could not prove the key"};
    std::optional<Secret> secret;
    if (key_) secret = key_->session_secret(hello.nonce, nonce, out.token);
    seals_ = Seals(out.token, std::move(secret));
    co_return admitted;
}

hl::Task<Result<void>> ClientSession::open() {
    auto admitted = co_await log_in();
    if (!admitted) co_return std::move(admitted).error();
    window_bytes_ = admitted->window_bytes;
    windows_max_ = std::clamp(admitted->windows_max, 1u, windows_max_allowed);
    if (window_bytes_ == 0 || window_bytes_ > buffer_bytes_max / 2)
        co_return Error{Errc::protocol, "the server wants windows of an absurd size"};
    const auto count = std::min<std::uint64_t>(buffers_wanted, buffer_bytes_max / window_bytes_);
    auto buffers = Buffers::make(window_bytes_, static_cast<std::uint32_t>(count));
    if (!buffers) co_return std::move(buffers).error();
    buffers_ = std::make_unique<Buffers>(*std::move(buffers));
    if (auto served = serve_own_calls(); !served) co_return std::move(served).error();
    HoldIn in;
    in.provider = provider_.value();
    seals_.stamp(in);
    // On the node's loop: whatever opened the session may have ended before the session does.
    if (const Errc spawned = scope_.spawn(hold(node_, server_, in)); spawned != Errc::ok) co_return spawned;
    // Lets the hold call leave before the first file is opened.
    (void)co_await node_.sleep_for(Microseconds{0});
    co_return Result<void>();
}

// Each session of a node takes the next number: the server calls that one.
Result<void> ClientSession::serve_own_calls() {
    constexpr std::uint16_t most = 0xffff;
    std::uint16_t number = 0;
    const auto serve_fill = [this, &number] {
        return node_.serve(
            fill_rpc, [this](hl::Request<FillIn> request) { return fill(std::move(request)); }, hl::provider(number));
    };
    Result<void> served = serve_fill();
    while (served.code() == Errc::exists && number < most) {
        ++number;
        served = serve_fill();
    }
    if (!served) return served;
    provider_ = number;
    return node_.serve(
        take_rpc, [this](hl::Request<TakeIn> request) { return take(std::move(request)); }, hl::provider(number));
}

hl::Task<void> ClientSession::hold(hl::NodeRef node, na::Addr server, HoldIn in) {
    // The other calls report whatever ends this one, so its result is not used.
    (void)co_await node.call(hold_rpc, server, in, within(hl::no_deadline));
}

hl::Task<void> ClientSession::close() {
    if (provider_) {
        (void)node_.withdraw(fill_rpc, *provider_);
        (void)node_.withdraw(take_rpc, *provider_);
    }
    // A node without a thread of its own is driven from here until the hold call has ended.
    (void)co_await node_.sleep_for(Microseconds{0});
    co_await inside_.none();
    scope_.request_stop();
    co_await scope_.join();
}

std::uint64_t ClientSession::lanes_for(std::uint64_t bytes) const noexcept {
    const std::uint64_t windows = bytes / window_bytes_ + (bytes % window_bytes_ != 0 ? 1 : 0);
    return std::min<std::uint64_t>(windows_max_, windows);
}

// In short steps: what has failed meanwhile is not to be told late.
hl::Task<Errc> ClientSession::keep_rate(std::uint64_t bytes, const std::optional<Error>& failure) {
    constexpr Microseconds step = std::chrono::milliseconds(100);
    Microseconds left = rate_.reserve(bytes, Rate::Clock::now());
    while (left.count() > 0 && !failure) {
        const Microseconds part = std::min(left, step);
        if (const Errc slept = co_await node_.sleep_for(part); slept != Errc::ok) co_return slept;
        left -= part;
    }
    co_return Errc::ok;
}

hl::Task<void> ClientSession::give_up(std::uint64_t file, bool keep) {
    AbortIn in;
    in.file = file;
    in.keep = keep;
    seals_.stamp(in);
    (void)co_await node_.call(abort_rpc, server_, in, within(session_deadline));
}

// --- saving

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
    open.compares = compares(mode, open.bytes);
    seals_.stamp(open);
    auto opened = co_await node_.call(open_rpc, server_, open, within(open_deadline));
    if (!opened) {
        Error error = from_remote(std::move(opened).error());
        if (!mode.again || error.code != Errc::exists) co_return error;
        Result<Moved> saved = co_await find_saved(*source, name);
        if (saved) co_return saved;
        co_return error;
    }

    const std::shared_ptr<Sending> file(new Sending{*std::move(source), opened->file, mode, std::move(progress),
                                                    Share(*buffers_, part_), opened->resumed_bytes,
                                                    open.compares ? opened->basis_bytes : 0});
    if (mode.push) pushing_.emplace(file->file, file);
    Result<void> sent = co_await send_windows(*file);
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
    auto committed = co_await node_.call(commit_rpc, server_, commit, within(commit_deadline));
    if (!committed) co_return in_the_middle(std::move(committed).error());
    Moved moved{open.bytes, file->had_bytes, file->sent_bytes, {}};
    if (mode.checked) moved.checksum = commit.checksum;
    co_return moved;
}

// The checksum of both, if they have the same content.
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

// What was saved before its answer got lost.
hl::Task<Result<Moved>> ClientSession::find_saved(const SourceFile& source, const std::string& name) {
    Result<std::optional<std::uint64_t>> same = co_await compare(source, name);
    if (!same) co_return std::move(same).error();
    if (!*same) co_return Errc::exists;
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

hl::Task<Result<void>> ClientSession::send_windows(Sending& file) {
    std::vector<hl::Task<void>> lanes;
    for (std::uint64_t i = 0; i < lanes_for(file.source.bytes()); ++i) lanes.push_back(send_lane(file));
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (file.failure) co_return *file.failure;
    co_return co_await disk_.run([&file] { return file.source.settled(); });
}

hl::Task<void> ClientSession::send_lane(Sending& file) {
    while (!file.failure && file.next < file.source.bytes()) {
        const std::uint64_t offset = file.next;
        file.next += window_bytes_;
        Result<void> sent = co_await send_window(file, offset);
        if (!sent) file.fail(std::move(sent).error());
    }
}

hl::Task<Result<void>> ClientSession::send_window(Sending& file, std::uint64_t offset) {
    Result<void> sent;
    Result<bool> hole = co_await pass_hole(file, offset);
    if (!hole) {
        sent = std::move(hole).error();
    } else if (*hole) {
        sent = Result<void>();
    } else if (file.mode.push &&
               !file.offers(offset)) {  // no conditional expression: gcc 12 destroys what it awaits there twice
        sent = co_await push_window(file, offset);
    } else {
        sent = co_await lend_window(file, offset);
    }
    if (sent && file.progress) file.progress(std::min(window_bytes_, file.source.bytes() - offset));
    co_return sent;
}

// Whether the window lies in a hole; the server has been told then.
hl::Task<Result<bool>> ClientSession::pass_hole(Sending& file, std::uint64_t offset) {
    if (!file.source.sparse()) co_return false;
    const std::uint64_t bytes = std::min(window_bytes_, file.source.bytes() - offset);
    if (const Errc turn = co_await file.reading.reach(offset); turn != Errc::ok) co_return turn;
    const bool hole = co_await disk_.run([&file, offset, bytes] {
        const bool found = file.source.is_hole(offset, bytes);
        if (found && file.mode.checked) file.sum.update_zeros(bytes);
        return found;
    });
    file.reading.advance(hole ? offset + bytes : offset);  // of no hole: whoever reads it takes the turn again
    if (!hole) co_return false;
    WindowIn window;
    window.file = file.file;
    window.offset = offset;
    window.hole = true;
    if (const Errc turn = co_await file.passing.reach(offset); turn != Errc::ok) co_return turn;
    const Pace::Pass pass = co_await pace_.take();
    file.passing.advance(offset + bytes);
    if (file.failure) co_return *file.failure;
    seals_.stamp(window);
    Result<WindowOut> told = co_await node_.call(window_rpc, server_, window, within(window_deadline));
    if (!told) co_return in_the_middle(std::move(told).error());
    co_return true;
}

hl::Task<Result<Buffer>> ClientSession::read_window(Sending& file, std::uint64_t offset) {
    const std::uint64_t bytes = std::min(window_bytes_, file.source.bytes() - offset);
    const Errc turn = co_await file.reading.reach(offset);
    if (turn == Errc::invalid_argument)
        co_return Error{Errc::protocol, "the server asked for a window of the file more than once"};
    if (turn != Errc::ok) co_return turn;
    Result<Buffer> buffer = co_await buffers_->take(file.share);
    if (!buffer) co_return buffer;
    const Bytes content = buffer->bytes().first(bytes);
    Result<void> got = co_await disk_.run([&file, content, offset] {
        auto outcome = file.source.read(offset, content);
        if (outcome && file.mode.checked) file.sum.update(content);
        return outcome;
    });
    if (!got) co_return std::move(got).error();
    file.reading.advance(offset + bytes);
    co_return buffer;
}

hl::Task<Result<void>> ClientSession::lend_window(Sending& file, std::uint64_t offset) {
    Result<Buffer> buffer = co_await read_window(file, offset);
    if (!buffer) co_return std::move(buffer).error();
    const std::uint64_t bytes = std::min(window_bytes_, file.source.bytes() - offset);
    WindowIn window;
    window.file = file.file;
    window.offset = offset;
    window.window = hl::Bulk(buffer->region().slice(0, bytes), na::Access::read);
    if (file.offers(offset)) {
        const ConstBytes content = buffer->bytes().first(bytes);
        (void)co_await disk_.run([&file, &window, offset, content] {
            if (offset < file.resumed_bytes) window.checksum = block_checksum(content);
            if (offset < file.basis_bytes) window.blocks = block_checksums(content, content.size());
            return true;
        });
    }
    if (const Errc turn = co_await file.passing.reach(offset); turn != Errc::ok) co_return turn;
    const std::uint64_t moves = offset < file.resumed_bytes ? 0 : bytes;
    if (const Errc paced = co_await keep_rate(moves, file.failure); paced != Errc::ok) co_return paced;
    const Pace::Pass pass = co_await pace_.take();
    file.passing.advance(offset + bytes);
    if (file.failure) co_return *file.failure;
    seals_.stamp(window);
    Result<WindowOut> sent = co_await node_.call(window_rpc, server_, window, within(window_deadline));
    if (!sent) co_return in_the_middle(std::move(sent).error());
    if (sent->had_bytes > (file.offers(offset) ? bytes : 0))
        co_return Error{Errc::protocol, "the server has more of a window than it was offered"};
    file.had_bytes += sent->had_bytes;
    file.sent_bytes += bytes - sent->had_bytes;
    co_return Result<void>();
}

// The server asks for the bytes by a fill call.
hl::Task<Result<void>> ClientSession::push_window(Sending& file, std::uint64_t offset) {
    PushIn push;
    push.file = file.file;
    push.offset = offset;
    if (const Errc turn = co_await file.passing.reach(offset); turn != Errc::ok) co_return turn;
    const std::uint64_t bytes = std::min(window_bytes_, file.source.bytes() - offset);
    if (const Errc paced = co_await keep_rate(bytes, file.failure); paced != Errc::ok) co_return paced;
    const Pace::Pass pass = co_await pace_.take();
    file.passing.advance(offset + bytes);
    if (file.failure) co_return *file.failure;
    seals_.stamp(push);
    Result<void> pushed = co_await node_.call(push_rpc, server_, push, within(window_deadline));
    if (!pushed) co_return file.failure ? *file.failure : in_the_middle(std::move(pushed).error());
    if (file.reading.position() <= offset)
        co_return Error{Errc::protocol, "the server took a window that it did not ask for"};
    file.sent_bytes += std::min(window_bytes_, file.source.bytes() - offset);
    co_return pushed;
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
    Result<Buffer> buffer = co_await read_window(*file, offset);
    Result<void> filled;
    if (buffer) {
        hl::TransferOptions options;
        options.notify = request->notice;
        options.deadline = fill_deadline;
        const std::uint64_t bytes = std::min(window_bytes_, file->source.bytes() - offset);
        const auto moved = co_await request->buffer.push(buffer->region().slice(0, bytes), options);
        if (!moved) filled = moved.error();
    } else {
        filled = std::move(buffer).error();
    }
    if (filled) co_return filled;
    // A canceled fill means that the server has let go of it, or is lost: the push call reports the reason.
    if (filled.error().code != Errc::canceled) file->fail(filled.error());
    co_return to_remote(filled.error());
}

// --- fetching

hl::Task<Result<AskOut>> ClientSession::ask_for(const std::string& name, ExtendedKinds extended) {
    AskIn ask;
    ask.name = name;
    ask.extended = extended;
    seals_.stamp(ask);
    auto asked = co_await node_.call(ask_rpc, server_, ask, within(open_deadline));
    if (!asked) co_return from_remote(std::move(asked).error());
    if (asked->bytes > file_bytes_max || !can_be(asked->attributes)) {
        co_await give_up(asked->file);
        co_return Error{Errc::protocol, "what the server tells of the file cannot be", printable(name)};
    }
    co_return asked;
}

hl::Task<Result<Moved>> ClientSession::fetch(const std::string& name, const Root& into, FetchMode mode,
                                             BytesMoved progress, std::function<void(std::uint64_t)> announced) {
    Result<AskOut> asked = co_await ask_for(name, mode.extended);
    if (!asked) co_return std::move(asked).error();
    if (announced) announced(asked->bytes);
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
    Receiving file{*std::move(target), asked->file,         asked->bytes,
                   asked->sparse,      std::move(progress), Share(*buffers_, part_)};
    if (mode.existing == Existing::replace && !mode.whole && asked->bytes > small_file_bytes_max) {
        auto basis = co_await disk_.run([&into, &mode] { return into.open_source(mode.as); });
        if (basis) file.basis.emplace(*std::move(basis));
    }
    Result<void> received = co_await receive_windows(file);
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
    FinishIn finish;
    finish.file = file.file;
    seals_.stamp(finish);
    auto finished = co_await node_.call(finish_rpc, server_, finish, within(open_deadline));
    if (!finished) co_return in_the_middle(std::move(finished).error());
    if (finished->checksum != file.sum.digest())
        co_return Error{Errc::bad_checksum, "what arrived is not what was sent", printable(name)};
    Result<void> committed = co_await disk_.run([&file] { return file.target.commit(); });
    if (!committed) co_return std::move(committed).error();
    co_return Moved{file.bytes, file.had_bytes, file.sent_bytes, finished->checksum};
}

hl::Task<Result<void>> ClientSession::receive_windows(Receiving& file) {
    std::vector<hl::Task<void>> lanes;
    for (std::uint64_t i = 0; i < lanes_for(file.bytes); ++i) lanes.push_back(receive_lane(file));
    if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    if (file.failure) co_return *file.failure;
    if (file.writing.position() != file.bytes) co_return Error{Errc::protocol, "not all of the file was written"};
    co_return Result<void>();
}

hl::Task<void> ClientSession::receive_lane(Receiving& file) {
    while (!file.failure && file.next < file.bytes) {
        const std::uint64_t offset = file.next;
        file.next += window_bytes_;
        Result<void> received = co_await receive_window(file, offset);
        if (!received) file.fail(std::move(received).error());
    }
}

hl::Task<Result<void>> ClientSession::receive_window(Receiving& file, std::uint64_t offset) {
    const std::uint64_t bytes = std::min(window_bytes_, file.bytes - offset);
    if (const Errc turn = co_await file.taking.reach(offset); turn != Errc::ok) co_return turn;
    Result<Buffer> buffer = co_await buffers_->take(file.share);
    if (!buffer) co_return std::move(buffer).error();
    file.taking.advance(offset + bytes);
    const Bytes content = buffer->bytes().first(bytes);
    ReadIn read;
    read.file = file.file;
    read.offset = offset;
    read.window = hl::Bulk(buffer->region().slice(0, bytes), na::Access::write);
    if (offset < file.target.resumed_bytes() || file.basis) {
        (void)co_await disk_.run([&file, &read, content] {
            offer(file, read, content);
            return true;
        });
    }
    Result<ReadOut> arrived = ReadOut{};
    {
        if (const Errc turn = co_await file.passing.reach(offset); turn != Errc::ok) co_return turn;
        const std::uint64_t moves = read.offered ? 0 : bytes;
        if (const Errc paced = co_await keep_rate(moves, file.failure); paced != Errc::ok) co_return paced;
        const Pace::Pass pass = co_await pace_.take();
        file.passing.advance(offset + bytes);
        if (file.failure) co_return *file.failure;
        seals_.stamp(read);
        arrived = co_await node_.call(read_rpc, server_, read, within(window_deadline));
    }
    if (!arrived) co_return in_the_middle(std::move(arrived).error());
    const std::uint64_t offered = read.offered || !read.blocks.empty() ? bytes : 0;
    if ((arrived->hole && !file.sparse) || arrived->had_bytes > (arrived->hole ? 0 : offered))
        co_return Error{Errc::protocol, "what the server tells of a window cannot be"};
    if (const Errc turn = co_await file.writing.reach(offset); turn != Errc::ok) co_return turn;
    Result<void> written = co_await disk_.run([&] { return take_in(file, offset, content, *arrived); });
    if (!written) co_return written;
    if (auto journal = file.target.due_journal()) disk_.start([journal] { journal->checkpoint(); });
    file.had_bytes += arrived->had_bytes;
    if (!arrived->hole) file.sent_bytes += bytes - arrived->had_bytes;
    file.writing.advance(offset + bytes);
    if (file.progress) file.progress(bytes);
    co_return written;
}

// What an interrupted attempt left, or else what an older version has there.
void ClientSession::offer(const Receiving& file, ReadIn& read, Bytes content) {
    if (const auto had = file.target.read_block(read.offset, content)) {
        read.offered = true;
        read.checksum = *had;
    } else if (file.basis) {
        read.blocks = block_checksums(content.first(file.basis->read_some(read.offset, content)), content.size());
    }
}

// What is there from before is not written again, unless remains before it turned out to be of another file.
Result<void> ClientSession::take_in(Receiving& file, std::uint64_t offset, ConstBytes content, const ReadOut& arrived) {
    if (arrived.hole) {
        file.sum.update_zeros(content.size());
        return file.target.leave_out(offset, content.size());
    }
    file.sum.update(content);
    if (arrived.had_bytes == content.size() && offset < file.target.resumed_bytes()) return {};
    return file.target.write(offset, content);
}

}  // namespace cinnabar::files
