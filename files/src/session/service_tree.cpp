// SPDX-License-Identifier: BSD-3-Clause
// The service's operations on folders, links and remains.
#include "session/batch.hpp"
#include "session/remote_error.hpp"
#include "session/service.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::files {
namespace {

Result<LookOut> look_below_root(const Root& root, const LookIn& in) {
    LookOut out;
    CINNABAR_TRY(out.entry, root.look(in.name, in.extended));
    if (out.entry.kind != EntryKind::file) return out;
    if (const auto file = root.open_source(in.name)) out.stored = file->stored_checksum();
    return out;
}

// The remains whose names sort after `name`, as many as fit into an answer.
RemainsOut remains_behind(const Root& root, std::string_view name) {
    auto all = root.list_remains();
    std::erase_if(all, [&](const Remains& remains) { return remains.name <= name; });
    std::ranges::sort(all, {}, &Remains::name);
    RemainsOut out;
    std::size_t bytes = 0;
    for (auto& remains : all) {
        out.more = out.remains.size() >= listing_entries_max || bytes >= listing_bytes_max;
        if (out.more) break;
        bytes += remains.name.size();
        out.remains.push_back(std::move(remains));
    }
    return out;
}

}  // namespace

hl::Task<Result<void>> Service::make(hl::Request<MakeIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto refuse = [&](const Error& error) {
        return failed(ServerEvent::Kind::failed, request.source(), request->name, error);
    };
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return refuse(may.error());
    if (auto may = may_make(access_, *request, request.source()); !may) co_return refuse(may.error());
    if (claims_.taken(request->name))
        co_return refuse(Error{Errc::busy, "another client is saving that name right now"});
    const UnderWay::Entry entry(under_way_, (*session)->load, 0);
    auto charge = Charge::make((*session)->account, 0, request->kind == MakeKind::finish_folder ? 0 : 1);
    if (!charge) co_return refuse(charge.error());
    bool was_there = false;
    Result<void> made = co_await disk_.run([this, &request, &was_there] {
        was_there = request->kind == MakeKind::folder && root_.look(request->name, {}).ok();
        return make_below_root(root_, *request);
    });
    if (!made) co_return refuse(made.error());
    if (!was_there) charge->keep();
    co_return made;
}

hl::Task<Result<Listing>> Service::list(hl::Request<ListIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    const AccessRequest access{AccessRequest::Kind::list, request->name, 0, false, {}, request.source()};
    if (auto may = access_.may(access); !may) co_return to_remote(may.error());
    const UnderWay::Entry entry(under_way_, (*session)->load, 0);
    auto listing = co_await disk_.run([this, &request] {
        return root_.list(request->name, request->cursor, request->extended, request->links.no_links_below());
    });
    if (!listing) co_return to_remote(listing.error());  // no event: clients list a name to test whether it is a folder
    co_return listing;
}

hl::Task<Result<LookOut>> Service::look(hl::Request<LookIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    const AccessRequest access{AccessRequest::Kind::look, request->name, 0, false, {}, request.source()};
    if (auto may = access_.may(access); !may) co_return to_remote(may.error());
    const UnderWay::Entry entry(under_way_, (*session)->load, 0);
    auto seen = co_await disk_.run([this, &request] { return look_below_root(root_, *request); });
    if (!seen) co_return to_remote(seen.error());
    co_return seen;
}

hl::Task<Result<void>> Service::remove(hl::Request<RemoveIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto refuse = [&](const Error& error) {
        return failed(ServerEvent::Kind::failed, request.source(), request->name, error);
    };
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return refuse(may.error());
    const AccessRequest access{AccessRequest::Kind::remove, request->name, 0, false, {}, request.source()};
    if (auto may = access_.may(access); !may) co_return refuse(may.error());
    if (claims_.taken(request->name))
        co_return refuse(Error{Errc::busy, "another client is saving that name right now"});
    const UnderWay::Entry entry(under_way_, (*session)->load, 0);
    Result<void> removed =
        co_await disk_.run([this, &request] { return root_.remove(request->name, request->links.no_links_below()); });
    if (!removed) co_return refuse(removed.error());
    if (hooks_.ended)
        hooks_.ended({ServerEvent::Kind::removed, request->name, request.source().to_string(), 0, {}, {}});
    co_return removed;
}

hl::Task<Result<RemainsOut>> Service::remains(hl::Request<RemainsIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    using Kind = AccessRequest::Kind;
    const auto kind = request->remove ? Kind::remove_remains : Kind::list_remains;
    const AccessRequest access{
        kind, request->remove ? request->name : std::string_view(), 0, false, {}, request.source()};
    if (auto may = access_.may(access); !may) co_return to_remote(may.error());
    const UnderWay::Entry entry(under_way_, (*session)->load, 0);
    co_return co_await disk_.run([this, &request]() -> Result<RemainsOut> {
        if (!request->remove) return remains_behind(root_, request->name);
        RemainsOut out;
        out.removed = root_.remove_remains(request->name);
        return out;
    });
}

}  // namespace cinnabar::files
