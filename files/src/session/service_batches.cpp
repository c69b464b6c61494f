// SPDX-License-Identifier: BSD-3-Clause
#include "session/service_batches.hpp"

#include "session/batch.hpp"
#include "session/pack.hpp"
#include "session/remote_error.hpp"

#include <deque>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

Error name_is_being_saved() { return {Errc::busy, "another client is saving that name right now"}; }

BatchOut answer_of(const std::vector<BatchStep>& steps) {
    BatchOut out;
    out.outcomes.resize(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!steps[i].outcome) out.outcomes[i] = to_outcome(steps[i].outcome.error());
    }
    return out;
}

}  // namespace

// Each entry counts as a file in progress, because its folder stays open until it is synced.
hl::Task<Result<BatchOut>> Service::Batches::make(Service& service, hl::Request<MakeManyIn> request) {
    auto session = service.session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await service.may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    const auto& entries = request->entries;
    if (auto room = service.has_room(**session, 0, entries.size()); !room) co_return to_remote(room.error());
    std::vector<BatchStep> steps(entries.size());
    std::deque<UnderWay::Entry> under_way;
    std::vector<Charge> charges(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& entry = entries[i];
        under_way.emplace_back(service.under_way_, (*session)->load, std::uint64_t{0});
        auto& outcome = steps[i].outcome;
        outcome = may_make(service.access_, entry, request.source());
        if (outcome && service.claims_.taken(entry.name)) outcome = name_is_being_saved();
        if (!outcome) continue;
        auto charge = Charge::make((*session)->account, 0, entry.kind == MakeKind::finish_folder ? 0 : 1);
        if (charge) {
            charges[i] = *std::move(charge);
        } else {
            outcome = charge.error();
        }
    }
    (void)co_await service.disk_.run([&service, &request, &steps] {
        make_batch(service.root_, *request, steps);
        return true;
    });
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& outcome = steps[i].outcome;
        if (outcome && !steps[i].was_there) charges[i].keep();
        if (!outcome)
            (void)service.failed(ServerEvent::Kind::failed, request.source(), entries[i].name, outcome.error());
    }
    co_return answer_of(steps);
}

hl::Task<Result<BatchOut>> Service::Batches::remove(Service& service, hl::Request<RemoveManyIn> request) {
    auto session = service.session_of(request);
    if (!session) co_return to_remote(session.error());
    if (auto may = co_await service.may_begin(*session, 0, request.node()); !may) co_return to_remote(may.error());
    const auto& names = request->names;
    if (auto room = service.has_room(**session, 0, names.size()); !room) co_return to_remote(room.error());
    std::vector<BatchStep> steps(names.size());
    std::deque<UnderWay::Entry> under_way;
    for (std::size_t i = 0; i < names.size(); ++i) {
        under_way.emplace_back(service.under_way_, (*session)->load, std::uint64_t{0});
        const AccessRequest access{AccessRequest::Kind::remove, names[i], 0, false, {}, request.source()};
        auto& outcome = steps[i].outcome;
        outcome = service.access_.may(access);
        if (outcome && service.claims_.taken(names[i])) outcome = name_is_being_saved();
    }
    (void)co_await service.disk_.run([&service, &request, &steps] {
        remove_batch(service.root_, *request, steps);
        return true;
    });
    const auto from = request.source().to_string();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto& outcome = steps[i].outcome;
        if (!outcome) (void)service.failed(ServerEvent::Kind::failed, request.source(), names[i], outcome.error());
        if (outcome && service.hooks_.ended)
            service.hooks_.ended({ServerEvent::Kind::removed, names[i], from, 0, {}, {}});
    }
    co_return answer_of(steps);
}

hl::Task<Result<ClaimOut>> Service::Batches::claim(Service& service, hl::Request<ClaimIn> request) {
    auto session = service.session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->savings.find(request->file);
    if (found == (*session)->savings.end()) co_return no_file();
    const auto saving = found->second;
    Result<ClaimOut> outcome = co_await saving->upload->claim(*request);
    if (outcome) co_return outcome;
    service.give_up(**session, request->file, outcome.error());
    co_return to_remote(outcome.error());
}

Result<JoinOut> Service::Batches::join(Service& service, const hl::Request<JoinIn>& request) {
    Result<JoinOut> joined = service.logins_.join(*request, request.source());
    if (!joined) return service.failed(ServerEvent::Kind::refused, request.source(), {}, joined.error());
    return joined;
}

}  // namespace cinnabar::files
