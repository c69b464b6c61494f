// SPDX-License-Identifier: BSD-3-Clause
// Saves many small files that arrive in one call, from the client or from another server that it copies from.
#include "file/blocks.hpp"
#include "session/move_ranges.hpp"
#include "session/pack.hpp"
#include "session/pack_parts.hpp"
#include "session/remote_error.hpp"
#include "session/service.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Resources that a file of the pack holds while it is in progress.
struct HeldResources {
    UnderWay::Entry entry;
    Claims::Claim claim;
    Charge charge;
};

hl::Task<Result<Buffer>> pull_pack(Buffers& buffers, Share& share, const PackIn& in) {
    if (in.window.size() > buffers.buffer_bytes()) co_return Error{Errc::too_large, "the pack is over a window"};
    Result<Buffer> buffer = co_await buffers.take(share);
    if (!buffer || in.window.size() == 0) co_return buffer;
    const std::vector<ByteRange> all{{0, in.window.size()}};
    Result<void> pulled = co_await pull_ranges(*buffer, in.window, all);
    if (!pulled) co_return std::move(pulled).error();
    co_return buffer;
}

// Tells the client, while the files are being synced, that the other server need not lend the pack any longer. If the
// call fails, the pack is lent until it is saved.
hl::Task<void> tell_pulled(const hl::Request<PackIn>& request, Session& session) {
    if (request->pulled == 0) co_return;
    PulledIn in;
    in.pulled = request->pulled;
    session.seals.stamp(in);
    const hl::CallOptions options{.deadline = take_deadline, .provider = session.provider};
    (void)co_await request.node().call(pulled_rpc, request.source(), in, options);
}

NewFile::BeforeNaming before_naming_of(const ServerHooks& hooks, const PackIn& in, const PackedFile& file) {
    if (!hooks.before_naming) return {};
    return [&hooks, &in, &file](int fd) {
        StagedFile staged{file.name, file.bytes, {}, fd};
        if (in.checked) staged.checksum = file.checksum;
        return hooks.before_naming(staged);
    };
}

void tell_of_pack(const ServerHooks& hooks, const PackIn& in, const PackOut& out, const na::Addr& client) {
    if (!hooks.ended) return;
    const auto from = client.to_string();
    for (std::size_t i = 0; i < in.files.size(); ++i) {
        const auto& outcome = out.outcomes[i];
        ServerEvent event{ServerEvent::Kind::saved, in.files[i].name, from, in.files[i].bytes, {}, {}};
        if (in.checked) event.checksum = in.files[i].checksum;
        if (outcome.code != Errc::ok) {
            event = {ServerEvent::Kind::failed, in.files[i].name, from, 0, {}, Error{outcome.code, {}, outcome.text}};
        }
        hooks.ended(event);
    }
}

}  // namespace

hl::Task<Result<PackOut>> Service::pack(hl::Request<PackIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    if (auto room = has_room(**session, pack_bytes(*request), request->files.size()); !room)
        co_return to_remote(room.error());
    const auto load = (*session)->load;
    PackOut out;
    out.outcomes.resize(request->files.size());
    std::vector<std::unique_ptr<HeldResources>> held(request->files.size());
    const auto may_follow_for = [&](const PackedFile& file) {
        na::Addr lender;  // the server that lends this file, as if it were saved by itself
        return may_follow(**session, file.name, file.bytes, request->window, lender);
    };
    bool any = false;
    for (std::size_t i = 0; i < held.size(); ++i) {
        const auto& file = request->files[i];
        const AccessRequest access{AccessRequest::Kind::save, file.name, file.bytes,
                                   request->replace,          {},        request.source()};
        if (auto may = access_.may(access); !may) {
            out.outcomes[i] = to_outcome(may.error());
        } else if (claims_.taken(file.name)) {
            out.outcomes[i] = to_outcome({Errc::busy, "another client is saving that name right now"});
        } else if (auto follows = may_follow_for(file); !follows) {
            out.outcomes[i] = to_outcome(follows.error());
        } else if (auto charge = Charge::make((*session)->account, file.bytes, 1); !charge) {
            out.outcomes[i] = to_outcome(charge.error());
        } else {
            held[i].reset(new HeldResources{{under_way_, load, file.bytes}, {claims_, file.name}, *std::move(charge)});
            any = true;
        }
    }
    if (!any) {  // does not connect to the lending server either
        tell_of_pack(hooks_, *request, out, request.source());
        co_return out;
    }
    unsigned waiting = 0;
    if (auto paced = co_await keep_rate(*session, pack_bytes(*request), request.node(), waiting); !paced)
        co_return to_remote(paced.error());
    Share share(buffers_, load->buffers);
    Result<Buffer> buffer = co_await pull_pack(buffers_, share, *request);
    if (!buffer) co_return to_remote(buffer.error());
    Pack pack(root_, {request->exact, request->replace, request->checked, request->checked, request->sync});
    std::vector<std::size_t> numbers;
    std::size_t at = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
        const auto& file = request->files[i];
        const ConstBytes content = buffer->bytes().subspan(at, file.bytes);
        at += file.bytes;
        if (!held[i]) continue;
        pack.add({&file, content, before_naming_of(hooks_, *request, file), false, {}, {}});
        numbers.push_back(i);
    }
    const PackWork work = [&pack](std::size_t begin, std::size_t end) { pack.save(begin, end); };
    auto telling = tell_pulled(request, **session);
    auto writing = run_in_parts(disk_, numbers.size(), work);
    (void)co_await hl::when_all(std::move(telling), std::move(writing));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto& outcome = pack.files()[i].outcome;
        if (outcome) held[numbers[i]]->charge.keep();
        if (!outcome) out.outcomes[numbers[i]] = to_outcome(outcome.error());
    }
    tell_of_pack(hooks_, *request, out, request.source());
    co_return out;
}

}  // namespace cinnabar::files
