// SPDX-License-Identifier: BSD-3-Clause
// The other side of SharedBytes::allow_direct: maps memory that a process of this host shares.
#include "remote_direct.hpp"
#include "remote_made.hpp"

#include <cinnabar/hl/direct_span.hpp>
#include <cinnabar/na/context.hpp>

#include <new>
#include <utility>

namespace cinnabar::hl::detail {

// The call and the mapping use the same context, so the call has connected it.
DirectAsk direct_ask(const NodeRef& node, const RemoteBytes& token, const RemoteOptions& options) {
    const na::Addr target = target_of(node, token, options);
    return {node, target, RemoteTable::of(node).context_for(target), token.bytes(), token.access()};
}

RemoteMade make_map(const DirectAsk& ask, const RemoteBytes& token, const RemoteOptions& options) {
    if (auto refused = refusal(token, ask.target, token.bytes(), token.access()))
        return refused_call(ask.node, *std::move(refused));
    if (!token.is_direct())
        return refused_call(ask.node, {Errc::unsupported,
                                       "the owner of this memory does not let others map it, or the token names a "
                                       "version: use the token's own operations"});
    const remote_calls::Look arguments{token.grant(), token.offset(), token.bytes()};
    CallOptions call_options = call_options_of(options);
    call_options.context = ask.context;
    return {ask.node.call(remote_calls::map, ask.target, arguments, call_options), std::nullopt,
            not_followed(token, options)};
}

Result<std::unique_ptr<na::DirectMemory>> map_memory(const DirectAsk& ask, const RemoteReply& reply) {
    DirectDescription description;
    if (!description.decode(reply.contents()))
        return Error(Errc::protocol, "the owner of the memory answered with something else than a key");
    na::Context& context = ask.node.rpc_context(ask.context).na();
    const na::RemoteMemory memory{description.key, description.lease_bytes};
    try {
        const na::Context::Ownership ownership(context);
        CINNABAR_TRY(na::Peer* const peer, context.peer(ask.target));
        return context.direct(*peer, memory, description.offset, ask.bytes, ask.access);
    } catch (const std::bad_alloc&) {
        return Error(Errc::out_of_memory);
    }
}

}  // namespace cinnabar::hl::detail
