// SPDX-License-Identifier: BSD-3-Clause
// Reads many small files for one call, and pushes their contents to the client, or lends them.
#include "session/move_ranges.hpp"
#include "session/pack_parts.hpp"
#include "session/read_pack.hpp"
#include "session/remote_error.hpp"
#include "session/service_batches.hpp"

#include <deque>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Reports the files to ServerHooks::ended, except those that the client will fetch by calls of their own. `In`:
// ReadPackIn, LendPackIn.
template <typename In>
void tell_of_read_pack(const ServerHooks& hooks, const In& in, const ReadPackOut& out, const na::Addr& client) {
    if (!hooks.ended) return;
    const auto from = client.to_string();
    for (std::size_t i = 0; i < in.files.size(); ++i) {
        const auto& given = out.files[i];
        if (given.outcome.code == Errc::again) continue;
        ServerEvent event{ServerEvent::Kind::fetched, in.files[i].name, from, in.files[i].bytes, given.checksum, {}};
        if (given.outcome.code != Errc::ok) {
            const Error why{given.outcome.code, {}, given.outcome.text};
            event = {ServerEvent::Kind::failed, in.files[i].name, from, 0, {}, why};
        }
        hooks.ended(event);
    }
}

}  // namespace

hl::Task<Result<ReadPackOut>> Service::read_pack(hl::Request<ReadPackIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    if (auto room = has_room(**session, 0, request->files.size()); !room) co_return to_remote(room.error());
    if (request->window.size() > buffers_.buffer_bytes())
        co_return to_remote(Error{Errc::too_large, "the pack is over a window"});
    const auto load = (*session)->load;
    std::deque<UnderWay::Entry> entries;
    ReadPack pack(root_, request->files, request->extended);
    for (std::size_t i = 0; i < request->files.size(); ++i) {
        entries.emplace_back(under_way_, load, std::uint64_t{0});
        const AccessRequest access{AccessRequest::Kind::fetch, request->files[i].name, 0, false, {}, request.source()};
        if (auto may = access_.may(access); !may) pack.refuse(i, may.error());
    }
    unsigned waiting = 0;
    if (auto paced = co_await keep_rate(*session, request->window.size(), request.node(), waiting); !paced)
        co_return to_remote(paced.error());
    Share share(buffers_, load->buffers);
    Result<Buffer> buffer = co_await buffers_.take(share);
    if (!buffer) co_return to_remote(buffer.error());
    const Bytes window = buffer->bytes();
    const PackWork work = [&pack, window](std::size_t begin, std::size_t end) { pack.read(begin, end, window); };
    co_await run_in_parts(disk_, request->files.size(), work);
    const auto ranges = pack.ranges();
    Result<void> pushed = co_await push_ranges(*buffer, request->window, ranges);
    if (!pushed) co_return to_remote(pushed.error());
    tell_of_read_pack(hooks_, *request, pack.out(), request.source());
    co_return pack.out();
}

// Lends nothing of a file that has failed, because its place in the buffer may contain data of other clients.
hl::Task<Result<void>> Service::Batches::lend_pack(Service& service, hl::Request<LendPackIn> request) {
    auto session = service.session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await service.may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    if (auto room = service.has_room(**session, 0, request->files.size()); !room) co_return to_remote(room.error());
    const std::uint64_t bytes = pack_bytes(*request);
    if (bytes > service.buffers_.buffer_bytes())
        co_return to_remote(Error{Errc::too_large, "the pack is over a window"});
    const auto load = (*session)->load;
    std::deque<UnderWay::Entry> entries;
    ReadPack pack(service.root_, request->files, request->extended, static_cast<std::size_t>(request->text_bytes));
    for (std::size_t i = 0; i < request->files.size(); ++i) {
        entries.emplace_back(service.under_way_, load, std::uint64_t{0});
        const AccessRequest access{AccessRequest::Kind::fetch, request->files[i].name, 0, false, {}, request.source()};
        if (auto may = service.access_.may(access); !may) pack.refuse(i, may.error());
    }
    unsigned waiting = 0;
    if (auto paced = co_await service.keep_rate(*session, bytes, request.node(), waiting); !paced)
        co_return to_remote(paced.error());
    Share share(service.buffers_, load->buffers);
    Result<Buffer> buffer = co_await service.buffers_.take(share);
    if (!buffer) co_return to_remote(buffer.error());
    const Bytes window = buffer->bytes();
    const PackWork work = [&pack, window](std::size_t begin, std::size_t end) { pack.read(begin, end, window); };
    co_await run_in_parts(service.disk_, request->files.size(), work);
    pack.leave_out_sparse();
    const std::size_t lent = pack.close_gaps(window);
    TakePackIn take;
    take.pack = request->pack;
    take.files = pack.out().files;
    if (lent > 0) take.window = hl::Bulk(buffer->region().slice(0, lent), na::Access::read).forwardable();
    (*session)->seals.stamp(take);
    const hl::CallOptions options{.deadline = take_deadline, .provider = (*session)->provider};
    Result<void> taken = co_await request.node().call(take_pack_rpc, request.source(), take, options);
    if (!taken) co_return to_remote(taken.error());
    tell_of_read_pack(service.hooks_, *request, pack.out(), request.source());
    co_return Result<void>();
}

}  // namespace cinnabar::files
