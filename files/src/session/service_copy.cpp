// SPDX-License-Identifier: BSD-3-Clause
// The server's part in a copy between two servers: the source server lends windows, and the destination server pulls
// them from the source server.
#include "session/remote_error.hpp"
#include "session/service.hpp"

#include <unistd.h>

#include <utility>

namespace cinnabar::files {
namespace {

// Whether the client may name a server to connect to: it must have proven a key, or run as this process's user
// according to the kernel, because the address of the other server is only the client's claim.
bool may_name_servers(const Session& session) {
    const auto process = session.source.process();
    return session.proven || (process && process->uid == ::geteuid());
}

}  // namespace

hl::Task<Result<LendOut>> Service::lend(hl::Request<LendIn> request) {
    auto session = session_of(request);
    if (!session) co_return to_remote(session.error());
    const auto found = (*session)->givings.find(request->file);
    if (found == (*session)->givings.end()) co_return no_file();
    const auto giving = found->second;
    const Download::Give give = [&request, &session](TakeIn& take) -> hl::Task<Result<void>> {
        take.file = request->file;
        take.offset = request->offset;
        (*session)->seals.stamp(take);
        const hl::CallOptions options{.deadline = take_deadline, .provider = (*session)->provider};
        co_return co_await request.node().call(take_rpc, request.source(), take, options);
    };
    Result<void> paced = co_await keep_rate(*session, request->bytes, request.node(), giving->paced);
    if (!paced) co_return to_remote(paced.error());
    Result<LendOut> outcome = co_await giving->download->lend(*request, give);
    if (!outcome) co_return to_remote(outcome.error());
    co_return outcome;
}

// Allows one server per file, so that a client cannot make this server dial more servers than it has files in progress.
Result<void> Service::may_follow(const Session& session, std::string_view name, std::uint64_t bytes,
                                 const hl::Bulk& window, na::Addr& owner) const {
    const auto& lender = window.remote().owner();
    if (lender.empty() || lender == owner) return {};
    if (!owner.empty())
        return Error{Errc::invalid_argument, "the windows of a file are lent by one server, not by several"};
    if (!may_name_servers(session))
        return Error{Errc::permission,
                     "for clients without a key the server connects to no other servers: serve --key-file"};
    const auto address = lender.to_string();
    const AccessRequest access{AccessRequest::Kind::follow, name, bytes, false, address, session.source};
    CINNABAR_TRY_VOID(access_.may(access));
    owner = lender;
    return {};
}

}  // namespace cinnabar::files
