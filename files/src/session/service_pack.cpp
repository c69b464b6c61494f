// SPDX-License-Identifier: BSD-3-Clause
// Saves many small files that arrive in one call.
#include "session/pack.hpp"
#include "session/pack_parts.hpp"
#include "session/remote_error.hpp"
#include "session/service.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Resources that a file of the pack holds while it is in progress.
struct Place {
    UnderWay::Entry entry;
    Claims::Claim claim;
    Charge charge;
};

hl::Task<Result<Buffer>> pull_pack(Buffers& buffers, Share& share, const PackIn& in) {
    if (in.window.size() > buffers.buffer_bytes()) co_return Error{Errc::too_large, "the pack is over a window"};
    Result<Buffer> buffer = co_await buffers.take(share);
    if (!buffer || in.window.size() == 0) co_return buffer;
    hl::TransferOptions options;
    options.deadline = window_time_max;
    Result<std::uint64_t> moved = co_await in.window.pull(buffer->region().slice(0, in.window.size()), options);
    if (!moved) co_return std::move(moved).error();
    if (*moved != in.window.size()) co_return Error{Errc::protocol, "the window came short"};
    co_return buffer;
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
    std::vector<std::unique_ptr<Place>> places(request->files.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& file = request->files[i];
        const AccessRequest access{AccessRequest::Kind::save, file.name, file.bytes,
                                   request->replace,          {},        request.source()};
        if (auto may = access_.may(access); !may) {
            out.outcomes[i] = to_outcome(may.error());
        } else if (claims_.taken(file.name)) {
            out.outcomes[i] = to_outcome({Errc::busy, "another client is saving that name right now"});
        } else if (auto charge = Charge::make((*session)->account, file.bytes, 1); !charge) {
            out.outcomes[i] = to_outcome(charge.error());
        } else {
            places[i].reset(new Place{{under_way_, load, file.bytes}, {claims_, file.name}, *std::move(charge)});
        }
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
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& file = request->files[i];
        const ConstBytes content = buffer->bytes().subspan(at, file.bytes);
        at += file.bytes;
        if (!places[i]) continue;
        pack.add({&file, content, before_naming_of(hooks_, *request, file), false, {}, {}});
        numbers.push_back(i);
    }
    const PackWork work = [&pack](std::size_t begin, std::size_t end) { pack.save(begin, end); };
    co_await run_in_parts(disk_, numbers.size(), work);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto& outcome = pack.files()[i].outcome;
        if (outcome) places[numbers[i]]->charge.keep();
        if (!outcome) out.outcomes[numbers[i]] = to_outcome(outcome.error());
    }
    tell_of_pack(hooks_, *request, out, request.source());
    co_return out;
}

}  // namespace cinnabar::files
