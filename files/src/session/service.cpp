// SPDX-License-Identifier: BSD-3-Clause
// Handlers for logins, for sessions, and for single files to and from this server: they begin files, move windows,
// commit, and give up. Handlers for packs of files, copies to another server, folders and links are in service_*.cpp.
#include "session/service.hpp"

#include "session/remote_error.hpp"
#include "session/service_batches.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/ping.hpp>
#include <cinnabar/hl/serve.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::files {
namespace {

// The error for a file that is not in progress: the reason why it was given up, if it was.
Error why_not(const Session& session, std::uint64_t file) {
    const auto found = session.failed.find(file);
    return found == session.failed.end() ? no_file() : to_remote(found->second);
}

hl::CallOptions fill_options(const Session& session) {
    return {.deadline = fill_deadline, .provider = session.provider};
}

// Only checked files are resumable, because otherwise the remains could not be compared.
Resumable resumable(const ServerOptions& options, const OpenIn& in) {
    const bool resumes = in.checked && in.bytes / options.window_bytes >= resumed_windows_min;
    return {resumes ? static_cast<std::uint32_t>(options.window_bytes) : 0, in.sparse, options.journal_interval};
}

// Whether windows of the file have waited too long for a missing earlier one. Call once a second.
template <typename Moved, typename File>
bool waits_too_long(Moved& under_way, const File& file, unsigned seconds_max) {
    under_way.gaps = under_way.paced == 0 && file.has_gap() ? under_way.gaps + 1 : 0;
    return under_way.gaps > seconds_max;
}

// Whether the connection is the one over which the session was opened. Windows that are moved over other connections
// may come again (WindowIn::again).
bool is_first(const Session& session, const na::Addr& source) { return session.source == source; }

// Waits until no task moves the window any more over the connection that was lost. timed_out: one still does when the
// client no longer waits.
template <typename File>
hl::Task<Result<void>> let_go(const File& file, std::uint64_t offset, hl::NodeRef node) {
    constexpr Microseconds interval = std::chrono::milliseconds(5);
    const auto until = std::chrono::steady_clock::now() + window_deadline;
    while (file.moves(offset)) {
        if (std::chrono::steady_clock::now() >= until)
            co_return to_remote(Error{Errc::timed_out, "the window is still moved over another connection"});
        if (const Errc slept = co_await node.sleep_for(interval); slept != Errc::ok) co_return slept;
    }
    co_return Result<void>();
}

// Charges the client's rate for bytes of a window that the receiver seemed to have, but that were moved after all.
// Later windows then wait longer.
void charge_rate(const Session& session, std::uint64_t bytes) {
    if (session.account) (void)session.account->rate().reserve(bytes, Rate::Clock::now());
}

}  // namespace

Error no_file() { return to_remote(Error{Errc::not_found, "no such file is in progress"}); }

void UnderWay::begin() noexcept {
    const std::lock_guard lock(mutex_);
    ++count_;
}

void UnderWay::end() noexcept {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) changed_.notify_all();
}

std::uint32_t UnderWay::count() const noexcept {
    const std::lock_guard lock(mutex_);
    return count_;
}

bool UnderWay::wait_for_none(std::chrono::duration<double> span) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, span, [&] { return count_ == 0; });
}

Result<std::unique_ptr<Service>> Service::make(Root root, std::optional<Key> key, const ServerOptions& options,
                                               ServerHooks hooks) {
    CINNABAR_TRY(auto buffers, Buffers::make(options.window_bytes, options.buffers));
    return std::unique_ptr<Service>(
        new Service(std::move(root), std::move(key), options, std::move(hooks), std::move(buffers)));
}

Service::Service(Root root, std::optional<Key> key, const ServerOptions& options, ServerHooks hooks, Buffers buffers)
    : root_(std::move(root)),
      disk_(options.disk_threads),
      buffers_(std::move(buffers)),
      options_(options),
      hooks_(std::move(hooks)),
      access_(options.policy, hooks_),
      accounts_(Quota{options.client_bytes_max, options.client_files_max, options.client_bytes_per_second}),
      logins_(std::move(key), Logins::Limits{options.window_bytes, options.windows_max, root_.probe_precision()}) {}

// Registers the handlers in the reverse of the order in which clients make the calls, because clients may be connected
// already: a client whose hello is answered then finds all other calls served.
Result<void> Service::serve_on(const hl::NodeRef& node) {
    CINNABAR_TRY_VOID(serve_files_on(node));
    CINNABAR_TRY_VOID(node.serve(hold_rpc, [this](hl::Request<HoldIn> request) { return hold(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(join_rpc, [this](const hl::Request<JoinIn>& request) { return Batches::join(*this, request); }));
    CINNABAR_TRY_VOID(node.serve(login_rpc, [this](hl::Request<LoginIn> request) { return login(request); }));
    CINNABAR_TRY_VOID(node.serve(hello_rpc, [this](hl::Request<HelloIn> request) { return hello(request); }));
    CINNABAR_TRY_VOID(node.serve(ping_rpc, [](std::uint64_t number) { return number; }));
    if (const Errc spawned = node.spawn(watch_sessions(node)); spawned != Errc::ok) return spawned;
    return {};
}

Result<void> Service::serve_files_on(const hl::NodeRef& node) {
    CINNABAR_TRY_VOID(node.serve(open_rpc, [this](hl::Request<OpenIn> request) { return open(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(window_rpc, [this](hl::Request<WindowIn> request) { return window(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(
        claim_rpc, [this](hl::Request<ClaimIn> request) { return Batches::claim(*this, std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(push_rpc, [this](hl::Request<PushIn> request) { return push(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(commit_rpc, [this](hl::Request<CommitIn> request) { return commit(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(pack_rpc, [this](hl::Request<PackIn> request) { return pack(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(read_pack_rpc, [this](hl::Request<ReadPackIn> request) { return read_pack(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(ask_rpc, [this](hl::Request<AskIn> request) { return ask(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(read_rpc, [this](hl::Request<ReadIn> request) { return read(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(finish_rpc, [this](hl::Request<FinishIn> request) { return finish(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(lend_rpc, [this](hl::Request<LendIn> request) { return lend(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(lend_pack_rpc, [this](hl::Request<LendPackIn> request) {
        return Batches::lend_pack(*this, std::move(request));
    }));
    CINNABAR_TRY_VOID(node.serve(sum_rpc, [this](hl::Request<SumIn> request) { return sum(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(make_rpc, [this](hl::Request<MakeIn> request) { return make(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(
        make_many_rpc, [this](hl::Request<MakeManyIn> request) { return Batches::make(*this, std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(remove_many_rpc, [this](hl::Request<RemoveManyIn> request) {
        return Batches::remove(*this, std::move(request));
    }));
    CINNABAR_TRY_VOID(node.serve(list_rpc, [this](hl::Request<ListIn> request) { return list(std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(look_rpc, [this](hl::Request<LookIn> request) { return look(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(remove_rpc, [this](hl::Request<RemoveIn> request) { return remove(std::move(request)); }));
    CINNABAR_TRY_VOID(
        node.serve(remains_rpc, [this](hl::Request<RemainsIn> request) { return remains(std::move(request)); }));
    return node.serve(abort_rpc, [this](hl::Request<AbortIn> request) { return abort(request); });
}

bool Service::drain(std::chrono::duration<double> span) {
    draining_.store(true, std::memory_order_relaxed);
    return under_way_.wait_for_none(span);
}

Error Service::failed(ServerEvent::Kind kind, const na::Addr& client, std::string_view name, const Error& error) const {
    if (hooks_.ended) hooks_.ended({kind, std::string(name), client.to_string(), 0, {}, error});
    return to_remote(error);
}

Result<HelloOut> Service::hello(const hl::Request<HelloIn>& request) {
    auto out = logins_.hello(*request, request.source());
    if (!out) return failed(ServerEvent::Kind::refused, request.source(), {}, out.error());
    return out;
}

Result<LoginOut> Service::login(const hl::Request<LoginIn>& request) {
    auto out = logins_.login(*request, request.source());
    if (!out) return failed(ServerEvent::Kind::refused, request.source(), {}, out.error());
    if (auto given = give_account(*out, request.source()); !given)
        return failed(ServerEvent::Kind::refused, request.source(), {}, given.error());
    return out;
}

Result<void> Service::give_account(const LoginOut& out, const na::Addr& client) {
    CINNABAR_TRY(const auto session, logins_.find(out.token, client));
    const auto policy = access_.policy();
    Result<void> may = policy ? policy->may_log_in(client) : Result<void>();
    if (!may) logins_.end(*session);
    if (!may) return std::move(may).error();
    auto account = accounts_.of(client_name(client), policy ? policy->quota_of(client) : nullptr);
    if (!account) logins_.end(*session);
    if (!account) return std::move(account).error();
    session->account = *std::move(account);
    return {};
}

hl::Task<Result<void>> Service::keep_rate(const std::shared_ptr<Session>& session, std::uint64_t bytes,
                                          hl::NodeRef node, unsigned& paced) const {
    if (!session->account || !session->account->rate().limits()) co_return Result<void>();
    Rate& rate = session->account->rate();
    const auto now = Rate::Clock::now();
    if (rate.wait(now) > rate_wait_max)
        co_return Error{Errc::overloaded, "more is in progress than the client's rate allows (serve --rate)"};
    const auto wait = rate.reserve(std::min<std::uint64_t>(bytes, options_.window_bytes), now);
    if (wait.count() == 0) co_return Result<void>();
    ++paced;
    const Errc slept = co_await node.sleep_for(wait);
    --paced;
    if (slept != Errc::ok) co_return slept;
    co_return Result<void>();
}

hl::Task<Result<void>> Service::hold(hl::Request<HoldIn> request) {
    if (auto known = session_of(request); !known) co_return to_remote(known.error());
    auto session = logins_.hold(request->seal.token, request.source());
    if (!session) co_return to_remote(session.error());
    const bool first = is_first(**session, request.source());
    if (first) (*session)->provider = request->provider;
    // Sleeps until the client cancels the call, the connection is lost, or the node shuts down; over a further
    // connection also until the session has ended.
    const Microseconds round = first ? Microseconds(std::chrono::hours(24)) : Microseconds(std::chrono::seconds(5));
    Errc slept = Errc::ok;
    while (slept == Errc::ok && !(*session)->ended) slept = co_await request.node().sleep_for(round);
    if (first) {
        end_session(**session);
    } else {
        logins_.leave(**session, request.source());
    }
    co_return Errc::shutting_down;
}

void Service::end_session(Session& session) {
    session.ended = true;
    const Error gone{Errc::peer_lost, "the client's session has ended"};
    for (const auto& [file, saving] : session.savings) saving->upload->close(gone);
    for (const auto* const files : {&session.givings, &session.sums}) {
        for (const auto& [file, giving] : *files) giving->download->close(gone);
    }
    session.savings.clear();
    session.givings.clear();
    session.sums.clear();
    logins_.end(session);
}

// Otherwise they would wait as long as the session lasts.
void Service::end_files_with_gaps(Session& session) {
    const Error why{Errc::timed_out, "a window of the file did not come"};
    std::vector<std::uint64_t> late;
    for (auto& [number, saving] : session.savings) {
        const bool lost = saving->upload->count_lost_second() > options_.again_seconds_max;
        if (waits_too_long(*saving, *saving->upload, options_.gap_seconds_max) || lost) late.push_back(number);
    }
    for (const auto number : late) give_up(session, number, why);
    for (auto& [number, giving] : session.givings) {
        if (waits_too_long(*giving, *giving->download, options_.gap_seconds_max)) giving->download->close(why);
    }
}

hl::Task<void> Service::watch_sessions(hl::NodeRef node) {
    constexpr Microseconds interval = std::chrono::seconds(1);
    constexpr unsigned trim_every = 60;
    for (unsigned rounds = 1; co_await node.sleep_for(interval) == Errc::ok; ++rounds) {
        for (const auto& session : logins_.expire()) end_session(*session);
        logins_.for_each([this](Session& session) { end_files_with_gaps(session); });
        if (rounds % trim_every == 0) disk_.start([this] { (void)root_.trim_remains(); });
    }
}

// A file may begin only in a session that is held, so that everything is cleaned up at once when the hold call ends
// with the client. The client sends the hold call first, but it may arrive slightly later.
hl::Task<Result<void>> Service::may_begin(const std::shared_ptr<Session>& session, std::uint64_t bytes,
                                          hl::NodeRef node) const {
    constexpr Microseconds interval = std::chrono::milliseconds(1);
    constexpr unsigned looks_max = 1000;
    for (unsigned looks = 0; !session->held && looks < looks_max; ++looks) {
        if (const Errc stopped = co_await node.sleep_for(interval); stopped != Errc::ok) co_return stopped;
    }
    if (!session->held) co_return Error{Errc::timed_out, "the session is not held: its hold call has to come first"};
    if (session->ended) co_return Errc::canceled;
    co_return has_room(*session, bytes);
}

Result<void> Service::has_room(const Session& session, std::uint64_t bytes, std::size_t files) const {
    if (draining_.load(std::memory_order_relaxed)) return Error{Errc::shutting_down, "it takes no new files"};
    if (session.load->files + files > options_.session_files_max)
        return Error{Errc::overloaded, "too many files of this client are under way"};
    if (bytes > options_.session_bytes_max)
        return Error{Errc::too_large, "one client may not have that much under way (serve --client-bytes)"};
    if (bytes > options_.session_bytes_max - session.load->bytes)
        return Error{Errc::overloaded, "too many bytes of this client are under way"};
    if (under_way_.count() + files > options_.files_max) return Error{Errc::overloaded, "too many files are under way"};
    return {};
}

hl::Task<Result<OpenOut>> Service::open(hl::Request<OpenIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto refuse = [&](const Error& error) {
        return failed(ServerEvent::Kind::failed, request.source(), request->name, error);
    };
    if (auto may = co_await may_begin(*session, request->bytes, request.node()); !may) co_return refuse(may.error());
    const AccessRequest access{AccessRequest::Kind::save, request->name, request->bytes, request->replace, {},
                               request.source()};
    if (auto may = access_.may(access); !may) co_return refuse(may.error());
    if (request->bytes > file_bytes_max)
        co_return refuse(Error{Errc::too_large, "no file can be of that size", printable(request->name)});
    if (claims_.taken(request->name))
        co_return refuse(Error{Errc::busy, "another client is saving that name right now"});
    auto charge = Charge::make((*session)->account, request->bytes, 1);
    if (!charge) co_return refuse(charge.error());
    // If the session ends meanwhile, this object's destruction undoes what was made so far.
    const std::shared_ptr<Saving> saving(new Saving{
        {under_way_, (*session)->load, request->bytes}, {claims_, request->name}, {}, 0, 0, *std::move(charge)});
    auto file = co_await disk_.run([this, &request] {
        const auto existing = request->replace ? Existing::replace : Existing::keep;
        return root_.create(request->name, request->bytes, request->attributes.mode, existing,
                            resumable(options_, *request));
    });
    if (!file) co_return refuse(file.error());
    if (request->exact) file->keep(request->attributes);
    saving->upload.emplace(buffers_, (*session)->load->buffers, disk_, root_, *std::move(file), request->bytes,
                           request->checked, request->sparse);
    if (request->checked)
        saving->upload->use_known(known_, {client_name(request.source()), request->source}, request->rereads);
    auto basis = co_await basis_of(*request, request.source());
    if (basis) saving->upload->compare_with(*std::move(basis));
    if ((*session)->ended) co_return Errc::canceled;
    OpenOut out;
    out.file = next_file_++;
    out.resumed_bytes = saving->upload->resumed_bytes();
    out.basis_bytes = saving->upload->basis_bytes();
    out.proven_bytes = saving->upload->proven_bytes();
    (*session)->savings.emplace(out.file, saving);
    co_return out;
}

// A comparison tells the client about the file's content, so the client must be allowed to fetch it.
hl::Task<std::optional<SourceFile>> Service::basis_of(const OpenIn& in, const na::Addr& client) {
    if (!in.compares || !in.replace || !in.checked || in.bytes == 0) co_return std::nullopt;
    const AccessRequest access{AccessRequest::Kind::fetch, in.name, 0, false, {}, client};
    if (!access_.may(access)) co_return std::nullopt;
    auto basis = co_await disk_.run([this, &in] { return root_.open_source(in.name); });
    if (!basis) co_return std::nullopt;
    co_return *std::move(basis);
}

// Closing the upload ends the handlers of windows that wait for an earlier window. Once the handlers that work on the
// file have ended, its name is free and its staged file is removed or kept as remains, so a stalled client keeps
// neither the name nor the space.
void Service::give_up(Session& session, std::uint64_t file, const Error& why) {
    const auto saving = session.savings.extract(file);
    if (!saving) return;
    saving.mapped()->upload->close(why);
    if (session.failed.size() >= options_.session_files_max) session.failed.erase(session.failed.begin());
    session.failed.emplace(file, why);
}

hl::Task<Result<WindowOut>> Service::window(hl::Request<WindowIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->savings.find(request->file);
    if (found == (*session)->savings.end()) co_return why_not(**session, request->file);
    const auto saving = found->second;
    const bool may_come_again = !is_first(**session, request.source());
    if (request->again) {
        Result<void> waited = co_await let_go(*saving->upload, request->offset, request.node());
        if (!waited) co_return std::move(waited).error();
    }
    Result<WindowOut> outcome = WindowOut{};
    const auto& name = saving->claim.name();
    auto may = may_follow(**session, name, saving->upload->bytes(), request->window, saving->owner);
    if (!may) {
        saving->upload->close(may.error());
        outcome = std::move(may).error();
    } else if (request->hole) {
        Result<void> left = co_await saving->upload->receive_hole(*request);
        if (!left) outcome = std::move(left).error();
    } else {
        const std::uint64_t bytes = request->window.size();
        const bool had = request->offset < saving->upload->resumed_bytes();
        Result<void> paced;
        if (!request->again || !saving->upload->came_before(request->offset))
            paced = co_await keep_rate(*session, had ? 0 : bytes, request.node(), saving->paced);
        if (!paced && may_come_again) co_return to_remote(paced.error());
        if (!paced) outcome = std::move(paced).error();
        if (paced) outcome = co_await saving->upload->receive(*request, may_come_again);
        if (paced && had) charge_rate(**session, outcome ? bytes - std::min(bytes, outcome->had_bytes) : bytes);
    }
    if (outcome) co_return outcome;
    if (may_come_again && !saving->upload->ended()) co_return to_remote(outcome.error());
    const bool first = (*session)->savings.contains(request->file);
    give_up(**session, request->file, outcome.error());
    if (!first || outcome.code() != Errc::bad_checksum) co_return to_remote(outcome.error());
    co_return failed(ServerEvent::Kind::failed, request.source(), name, outcome.error());
}

hl::Task<Result<void>> Service::push(hl::Request<PushIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->savings.find(request->file);
    if (found == (*session)->savings.end()) co_return why_not(**session, request->file);
    const auto saving = found->second;
    const bool may_come_again = !is_first(**session, request.source());
    if (request->again) {
        Result<void> waited = co_await let_go(*saving->upload, request->offset, request.node());
        if (!waited) co_return std::move(waited).error();
    }
    const Upload::Ask ask = [&request, &session](hl::Bulk buffer, std::uint32_t notice) -> hl::Task<Result<void>> {
        FillIn fill;
        fill.file = request->file;
        fill.offset = request->offset;
        fill.notice = notice;
        fill.buffer = std::move(buffer);
        (*session)->seals.stamp(fill);
        co_return co_await request.node().call(fill_rpc, request.source(), fill, fill_options(**session));
    };
    Result<void> outcome;
    if (!request->again || !saving->upload->came_before(request->offset))
        outcome = co_await keep_rate(*session, options_.window_bytes, request.node(), saving->paced);
    if (!outcome && may_come_again) co_return to_remote(outcome.error());
    if (outcome)
        outcome = co_await saving->upload->grant(*request, request.node(), request.source(), ask, may_come_again);
    if (outcome) co_return outcome;
    if (may_come_again && !saving->upload->ended()) co_return to_remote(outcome.error());
    give_up(**session, request->file, outcome.error());
    co_return to_remote(outcome.error());
}

hl::Task<Result<CommitOut>> Service::commit(hl::Request<CommitIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->savings.find(request->file);
    if (found == (*session)->savings.end()) co_return why_not(**session, request->file);
    // Removed from the session, so that the session's end does not interfere: all data has arrived.
    const auto saving = std::move(found->second);
    (*session)->savings.erase(found);
    const auto& name = saving->claim.name();
    NewFile::BeforeNaming before;
    if (hooks_.before_naming) {
        before = [this, &saving](int fd) {
            StagedFile staged{saving->claim.name(), saving->upload->bytes(), {}, fd};
            staged.checksum = saving->upload->checksum();
            return hooks_.before_naming(staged);
        };
    }
    Result<void> outcome = co_await saving->upload->commit(request->checksum, before, request->synced);
    if (!outcome) co_return failed(ServerEvent::Kind::failed, request.source(), name, outcome.error());
    saving->charge.keep();
    const auto checksum = saving->upload->checksum();
    CommitOut out;
    out.checksum = checksum.value_or(0);
    if (hooks_.ended) {
        const auto bytes = saving->upload->bytes();
        ServerEvent saved{ServerEvent::Kind::saved, name, request.source().to_string(), bytes, {}, {}};
        saved.checksum = checksum;
        hooks_.ended(saved);
    }
    co_return out;
}

hl::Task<Result<AskOut>> Service::ask(hl::Request<AskIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto refuse = [&](const Error& error) {
        return failed(ServerEvent::Kind::failed, request.source(), request->name, error);
    };
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return refuse(may.error());
    const AccessRequest access{AccessRequest::Kind::fetch, request->name, 0, false, {}, request.source()};
    if (auto may = access_.may(access); !may) co_return refuse(may.error());
    const std::shared_ptr<Giving> giving(new Giving{{under_way_, (*session)->load, 0}, request->name, {}, 0});
    auto file = co_await disk_.run([this, &request] { return root_.open_source(request->name); });
    if (!file) co_return refuse(file.error());
    auto attributes = co_await disk_.run([&file, &request] { return file->attributes(request->extended); });
    if (!attributes) co_return refuse(attributes.error());
    giving->download.emplace(buffers_, (*session)->load->buffers, disk_, *std::move(file));
    if ((*session)->ended) co_return Errc::canceled;
    AskOut out;
    out.file = next_file_++;
    out.bytes = giving->download->bytes();
    out.attributes = *std::move(attributes);
    out.sparse = giving->download->file().sparse();
    (*session)->givings.emplace(out.file, giving);
    co_return out;
}

hl::Task<Result<ReadOut>> Service::read(hl::Request<ReadIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->givings.find(request->file);
    if (found == (*session)->givings.end()) co_return no_file();
    const auto giving = found->second;
    const std::uint64_t bytes = request->window.size();
    if (request->again) {
        Result<void> waited = co_await let_go(*giving->download, request->offset, request.node());
        if (!waited) co_return std::move(waited).error();
    }
    Result<void> paced = co_await keep_rate(*session, request->offered ? 0 : bytes, request.node(), giving->paced);
    if (!paced) co_return to_remote(paced.error());
    Result<ReadOut> outcome = co_await giving->download->send(*request, !is_first(**session, request.source()));
    if (request->offered && !(outcome && outcome->hole))
        charge_rate(**session, outcome ? bytes - std::min(bytes, outcome->had_bytes) : bytes);
    if (!outcome) co_return to_remote(outcome.error());
    co_return outcome;
}

hl::Task<Result<FinishOut>> Service::finish(hl::Request<FinishIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->givings.find(request->file);
    if (found == (*session)->givings.end()) co_return no_file();
    const auto giving = std::move(found->second);
    (*session)->givings.erase(found);
    auto checksum = co_await giving->download->finish();
    if (!checksum) co_return failed(ServerEvent::Kind::failed, request.source(), giving->name, checksum.error());
    if (hooks_.ended) {
        const auto bytes = giving->download->bytes();
        hooks_.ended({ServerEvent::Kind::fetched, giving->name, request.source().to_string(), bytes, *checksum, {}});
    }
    co_return FinishOut{*checksum};
}

hl::Task<Result<std::uint64_t>> Service::begin_sum(const std::shared_ptr<Session>& session,
                                                   const hl::Request<SumIn>& request) {
    if (auto may = co_await may_begin(session, 0, request.node()); !may) co_return to_remote(may.error());
    const AccessRequest access{AccessRequest::Kind::fetch, request->name, 0, false, {}, request.source()};
    if (auto may = access_.may(access); !may) co_return to_remote(may.error());
    const std::shared_ptr<Giving> giving(new Giving{{under_way_, session->load, 0}, request->name, {}, 0});
    auto file = co_await disk_.run([this, &request] { return root_.open_source(request->name); });
    if (!file) co_return to_remote(file.error());
    giving->download.emplace(buffers_, session->load->buffers, disk_, *std::move(file));
    if (session->ended) co_return Errc::canceled;
    const auto number = next_file_++;
    session->sums.emplace(number, giving);
    co_return number;
}

hl::Task<Result<SumOut>> Service::sum(hl::Request<SumIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    Result<std::uint64_t> number = request->file;
    if (*number == 0) number = co_await begin_sum(*session, request);
    if (!number) co_return std::move(number).error();
    const auto found = (*session)->sums.find(*number);
    if (found == (*session)->sums.end()) co_return no_file();
    const auto giving = found->second;
    if (giving->summing)
        co_return to_remote(Error{Errc::invalid_argument, "another call reads that file: wait for its answer"});
    giving->summing = true;
    Result<SumOut> out = co_await sum_step(*giving->download);
    giving->summing = false;
    if (out && out->position < giving->download->bytes()) {
        out->file = *number;
        co_return out;
    }
    (*session)->sums.erase(*number);
    if (!out) co_return to_remote(out.error());
    co_return out;
}

hl::Task<Result<SumOut>> Service::sum_step(Download& file) const {
    Result<void> read = co_await file.sum(std::chrono::steady_clock::now() + options_.sum_step);
    if (!read) co_return std::move(read).error();
    SumOut out;
    out.position = file.position();
    if (out.position < file.bytes()) co_return out;
    Result<std::uint64_t> checksum = co_await file.finish();
    if (!checksum) co_return std::move(checksum).error();
    out.verified = {file.bytes(), *checksum, file.file().stored_checksum()};
    co_return out;
}

Result<void> Service::abort(const hl::Request<AbortIn>& request) {
    auto session = session_of(request);
    if (!session) return to_remote(session.error());
    const Error why{Errc::canceled, "the client gave the file up"};
    (*session)->failed.erase(request->file);
    if (const auto saving = (*session)->savings.extract(request->file)) {
        auto& upload = *saving.mapped()->upload;
        request->keep ? upload.close(why) : upload.give_up(why);
    }
    for (auto* const files : {&(*session)->givings, &(*session)->sums}) {
        if (const auto giving = files->extract(request->file)) giving.mapped()->download->close(why);
    }
    return {};
}

}  // namespace cinnabar::files
