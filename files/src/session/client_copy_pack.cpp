// SPDX-License-Identifier: BSD-3-Clause
#include "session/copy_side.hpp"
#include "session/copying_pack.hpp"
#include "session/pack.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace cinnabar::files {
namespace {

// Marks a file that is not in the call, or that the source server leaves out of it.
Error copied_alone() { return {Errc::again, "it is copied by itself"}; }

}  // namespace

void ClientSession::CopyingPack::choose() {
    std::uint64_t left = std::min(client.window_bytes_, to.window_bytes_);
    std::size_t text = 0;        // bytes of the names at the source
    std::size_t text_there = 0;  // bytes of the names at the destination
    for (std::size_t i = 0; i < files.size() && numbers.size() < pack_files_max; ++i) {
        const auto& file = files[i];
        const auto name = file.name.size();
        const auto as = file.as.size();
        const bool fits = file.bytes <= std::min(left, packed_file_bytes_max) && name <= name_bytes_max &&
                          as <= name_bytes_max && text + name <= pack_text_bytes_max &&
                          text_there + as <= pack_text_bytes_max;
        if (!fits) continue;
        left -= file.bytes;
        text += name;
        text_there += as;
        asked.files.push_back({file.name, file.bytes});
        numbers.push_back(i);
    }
    asked.extended = mode.extended;
    asked.text_bytes = pack_text_bytes_max - text_there;
}

void ClientSession::CopyingPack::fail(Error why) {
    if (failure) return;
    failure = std::move(why);
    taking.close(failure->code);
    pulling.close(failure->code);
    stop.request_stop();
}

void ClientSession::CopyingPack::let_go() {
    if (std::exchange(pulled, true)) return;
    pulling.advance(1);
}

hl::Task<void> ClientSession::CopyingPack::lend() {
    client.seals_.stamp(asked);
    Result<void> done = co_await client.node_.call(lend_pack_rpc, client.server_, asked, window_deadline);
    if (done && !taken) fail(Error{Errc::protocol, "the source server did not lend the files that it was asked for"});
    // The destination server saves what it has pulled, even if the source server fails now.
    if (!done && !pulled) {
        Error why = call_error(copied_from, std::move(done).error(), client.server_);
        // The source server has waited for the other one in vain.
        if (why.code == Errc::timed_out && taken) why = side_error(copied_to, Error{Errc::timed_out}, to.server_);
        fail(std::move(why));
    }
    taking.close(Errc::closed);
}

hl::Task<void> ClientSession::CopyingPack::hand_on() {
    if (const Errc came = co_await taking.reach(1); came != Errc::ok || failure) co_return;
    if (pack.files.empty()) {
        let_go();
        co_return;
    }
    to.seals_.stamp(pack);
    const std::stop_token token = stop.get_token();
    const hl::CallOptions options{.deadline = commit_deadline, .stop = &token};
    Result<PackOut> out = co_await to.node_.call(pack_rpc, to.server_, pack, options);
    if (!out) {
        fail(call_error(copied_to, std::move(out).error(), to.server_));
    } else if (out->outcomes.size() != pack.files.size()) {
        fail(Error{Errc::protocol, "the destination server has answered for another number of files than it was sent"});
    } else {
        settle(*out);
        let_go();
    }
}

Result<void> ClientSession::CopyingPack::take(const TakePackIn& in) {
    const Error lie{Errc::protocol, "the source server lends other files than it was asked for"};
    if (std::exchange(taken, true) || in.files.size() != asked.files.size()) return lie;
    std::uint64_t bytes = 0;
    std::size_t text = 0;
    for (std::size_t i = 0; i < in.files.size(); ++i) {
        const auto& given = in.files[i];
        if (given.outcome.code != Errc::ok) {
            results[numbers[i]] = side_error(copied_from, from_outcome(given.outcome), client.server_);
            continue;
        }
        if (!can_be(given.attributes, mode.extended))
            return Error{Errc::protocol, "the source server's description of the file is impossible",
                         printable(asked.files[i].name)};
        bytes += asked.files[i].bytes;
        text += extended_bytes(given.attributes.extended);
        pack.files.push_back({files[numbers[i]].as, asked.files[i].bytes, given.checksum, given.attributes});
        lent.push_back(numbers[i]);
    }
    if (bytes != in.window.size() || text > asked.text_bytes) return lie;
    pack.window = in.window;
    return {};
}

void ClientSession::CopyingPack::settle(const PackOut& out) {
    for (std::size_t i = 0; i < lent.size(); ++i) {
        const auto& file = pack.files[i];
        if (out.outcomes[i].code == Errc::ok) {
            results[lent[i]] = Moved{file.bytes, 0, file.bytes, file.checksum};
        } else {
            results[lent[i]] = side_error(copied_to, from_outcome(out.outcomes[i]), to.server_);
        }
    }
}

hl::Task<Result<void>> ClientSession::CopyingPack::serve_take(ClientSession& session, hl::Request<TakePackIn> request) {
    const Inside::Entry here(session.inside_);
    if (auto possible = check_pack(*request); !possible) co_return to_remote(possible.error());
    if (auto sealed = session.seals_.check(*request); !sealed) co_return to_remote(sealed.error());
    const auto found = session.packs_asked_.find(request->pack);
    if (found == session.packs_asked_.end())
        co_return to_remote(Error{Errc::not_found, "no such files are being copied"});
    const auto copying = found->second;
    const Inside::Entry there(copying->to.inside_);
    if (auto took = copying->take(*request); !took) {
        copying->fail(took.error());
        co_return to_remote(took.error());
    }
    copying->taking.advance(1);
    const Errc gone = co_await copying->pulling.reach(1);
    if (gone != Errc::ok) co_return to_remote(Error{gone, "the destination server has not taken the files"});
    co_return Result<void>();
}

Result<void> ClientSession::CopyingPack::serve_pulled(ClientSession& session, const hl::Request<PulledIn>& request) {
    if (auto sealed = session.seals_.check(*request); !sealed) return to_remote(sealed.error());
    const auto found = session.packs_handed_on_.find(request->pulled);
    if (found == session.packs_handed_on_.end() || !found->second->taken)
        return to_remote(Error{Errc::not_found, "no such files are being copied"});
    found->second->let_go();
    return {};
}

// Not a coroutine, because g++ 12 destroys a temporary of an awaited expression twice if it owns memory.
hl::Task<Result<Moved>> ClientSession::CopyingPack::copy_alone(std::size_t index) const {
    return client.copy(files[index].name, to, files[index].as, mode, {}, {});
}

hl::Task<void> ClientSession::CopyingPack::run(std::shared_ptr<CopyingPack> self) {
    ClientSession& from = self->client;
    ClientSession& there = self->to;
    const Pace::Pass pass = co_await there.packs_.take();
    if (const Errc paced = co_await there.keep_rate(pack_bytes(self->asked), self->failure); paced != Errc::ok) {
        self->fail(Error{paced});
        co_return;
    }
    self->asked.pack = from.next_pack_++;
    self->pack.pulled = there.next_pack_++;
    from.packs_asked_.emplace(self->asked.pack, self);
    there.packs_handed_on_.emplace(self->pack.pulled, self);
    auto lending = self->lend();
    auto handing_on = self->hand_on();
    (void)co_await hl::when_all(std::move(lending), std::move(handing_on));
    from.packs_asked_.erase(self->asked.pack);
    there.packs_handed_on_.erase(self->pack.pulled);
    self->pulling.close(Errc::closed);  // a late call of the source server waits for nothing
}

hl::Task<std::vector<Result<Moved>>> ClientSession::copy_small(const std::vector<CopiedFile>& files, ClientSession& to,
                                                               CopyMode mode) {
    const std::shared_ptr<CopyingPack> pack(new CopyingPack{*this, to, files, mode});
    pack->results.assign(files.size(), copied_alone());
    pack->pack.exact = mode.exact;
    pack->pack.replace = mode.existing == Existing::replace;
    pack->pack.sync = mode.sync;
    pack->choose();
    if (!pack->numbers.empty()) {
        auto running = CopyingPack::run(pack);
        co_await std::move(running);
    }
    const Errc code = pack->failure ? pack->failure->code : Errc::ok;
    if (code != Errc::ok && code != Errc::overloaded) {
        for (const auto number : pack->numbers) {
            auto& result = pack->results[number];
            if (result.code() == Errc::again) result = *pack->failure;
        }
    }
    // If the servers did not answer, do not wait for them again for each file.
    std::optional<Error> late;
    if (code == Errc::timed_out) late = pack->failure;
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto& result = pack->results[i];
        if (result.code() != Errc::again && !(mode.again && result.code() == Errc::exists)) continue;
        if (late) {
            result = *late;
            continue;
        }
        auto alone = pack->copy_alone(i);
        result = co_await std::move(alone);
        if (result.code() == Errc::timed_out) late = result.error();
    }
    co_return std::move(pack->results);
}

}  // namespace cinnabar::files
