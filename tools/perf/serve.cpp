// SPDX-License-Identifier: BSD-3-Clause
// The server side of `cinnabar perf`.
#include "commands/address.hpp"
#include "commands/descriptors.hpp"
#include "commands/reach.hpp"
#include "perf/command.hpp"
#include "perf/service.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <span>

namespace cinnabar::tools::perf {
namespace {

Result<void> check_listen(const ServeOptions& options) {
    for (const auto& uri : options.listen) {
        CINNABAR_TRY(const bool local, stays_on_host(uri));
        if (!local && !proves_peers(uri) && !options.insecure)
            return Error{Errc::invalid_argument,
                         "others can reach that address, and use time and memory of this machine: give "
                         "--insecure to allow it",
                         uri};
    }
    return {};
}

Result<void> serve(const ServeOptions& options, const Interrupt& interrupt) {
    hl::NodeOptions node_options;
    node_options.contexts = options.contexts;
    node_options.buffer_bytes_max = 2 * options.memory_bytes;  // buffers are rounded up to a power of two
    node_options.strangers_may_call = true;                    // check_listen has verified this
    node_options.introspection = options.introspection;
    node_options.transport.tls = options.tls;
    if (options.faults.any()) node_options.rpc.handler_time_max = {};
    CINNABAR_TRY(const auto node, hl::Node::listen(std::span<const std::string>(options.listen), node_options));
    if (node.address().empty()) return Error{Errc::bad_address, "no client can reach it: listen on tcp://HOST:PORT"};
    ServiceOptions service;
    service.arena_bytes_max = options.memory_bytes;
    service.contexts = options.contexts;
    service.release = CINNABAR_VERSION;
    service.faults = options.faults;
    service.loads = {options.mesh, options.tls};
    CINNABAR_TRY(const auto serving, Service::serve_on(node, service));
    print_line("listening on " + node.address());
    interrupt.wait();
    return {};
}

}  // namespace

ExitCode run_serve(const ServeOptions& options) {
    raise_descriptor_limit();
    const Interrupt interrupt;
    if (const auto may = check_listen(options); !may) {
        complain(may.error().message());
        return ExitCode::usage;
    }
    const auto served = serve(options, interrupt);
    if (served) return ExitCode::ok;
    complain(served.error().message());
    const bool usage = served.code() == Errc::bad_address || served.code() == Errc::unsupported;
    return usage ? ExitCode::usage : exit_code(served.code());
}

}  // namespace cinnabar::tools::perf
