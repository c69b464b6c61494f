// SPDX-License-Identifier: BSD-3-Clause
// A handler that pulls all of the memory that its caller lends, and answers when the transfer has ended.
#pragma once

#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>
#include <cinnabar/bulk/transfer.hpp>
#include <cinnabar/rpc/context.hpp>
#include <cinnabar/rpc/request.hpp>

#include <memory>
#include <vector>

namespace cinnabar::rpc {

// The state of a call of `pulled`.
struct Pull {
    Request* request = nullptr;
    bulk::RemoteRegion remote;
    std::vector<std::byte> memory;
    bulk::Region local;
};

inline void end_pull(bulk::Transfer& ended, void* user) noexcept {
    const std::unique_ptr<Pull> pull(static_cast<Pull*>(user));
    const Errc result = ended.result();
    pull->request->context().mover().release(ended);
    if (result == Errc::ok) {
        pull->request->respond(0);
    } else {
        pull->request->respond_error(result);
    }
    pull->request->release();
}

inline void begin_pull(Request& request) {
    auto pull = std::make_unique<Pull>();
    ByteReader reader(request.input());
    Errc why = bulk::RemoteRegion::decode(reader, pull->remote);
    if (why == Errc::ok) why = pull->remote.own();
    if (why == Errc::ok) {
        pull->request = &request;
        pull->memory.resize(pull->remote.bytes());
        pull->local = *bulk::Region::expose(Bytes(pull->memory), na::Access::read_write);
        request.detach();
        bulk::TransferArgs args;
        args.remote = &pull->remote;
        args.local = pull->local;
        args.bytes = pull->remote.bytes();
        if (request.transfer(args, end_pull, pull.get(), nullptr, why)) return (void)pull.release();
    }
    request.respond_error(why);
    request.release();
}

}  // namespace cinnabar::rpc
