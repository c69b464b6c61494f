// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "file/name.hpp"
#include "file/root.hpp"
#include "session/server.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/json.hpp"
#include "terminal/outlet.hpp"
#include "terminal/report.hpp"

#include <cinnabar/hl/node.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace cinnabar::tools {
namespace {

Result<void> check_listen(const ServeOptions& options) {
    for (const auto& uri : options.listen) {
        CINNABAR_TRY(const bool local, stays_on_host(uri));
        if (!local && options.key_file.empty() && !options.insecure)
            return Error{Errc::invalid_argument, "others can reach that address: give --key-file, or --insecure", uri};
    }
    return {};
}

// Whole or not at all: whoever waits for the file never reads half of it.
Result<void> write_ready_file(const std::string& path, const std::string& address) {
    const auto folder = path.find('/') == std::string::npos ? std::string(".") : std::string(parent_of(path));
    CINNABAR_TRY(const auto root, Root::open(folder.empty() ? "/" : folder));
    const auto text = address + "\n";
    CINNABAR_TRY(auto file, root.create(leaf_of(path), text.size(), 0644, Existing::replace));
    CINNABAR_TRY_VOID(file.write(0, as_bytes(text)));
    return file.commit();
}

std::string_view name_of(ServerEvent::Kind kind) {
    switch (kind) {
        case ServerEvent::Kind::saved:
            return "saved";
        case ServerEvent::Kind::fetched:
            return "fetched";
        case ServerEvent::Kind::failed:
            return "failed";
        case ServerEvent::Kind::refused:
            return "refused";
    }
    return "unknown";
}

// A client takes two descriptors, a file under way one; the soft limit is often 1,024. Clients beyond what the hard
// limit allows take turns: those that are quiet are asked to leave.
void allow_descriptors(std::uint32_t files_max, na::TransportOptions& transport) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    if (limit.rlim_cur != limit.rlim_max) {
        const rlimit all{limit.rlim_max, limit.rlim_max};
        if (::setrlimit(RLIMIT_NOFILE, &all) == 0) limit = all;
    }
    const auto files = std::min<rlim_t>(files_max, limit.rlim_cur / 4);
    const auto clients = (limit.rlim_cur - files) / 2;
    transport.connections_max = static_cast<std::uint32_t>(std::clamp<rlim_t>(clients, 8, transport.connections_max));
}

// What a server says goes through its outlet: whoever should read it may never do so, and the loop must not wait.
void print(Outlet& outlet, const std::string& text) { outlet.tell({STDOUT_FILENO, text + "\n"}); }
void complain(Outlet& outlet, const std::string& text) { outlet.tell({STDERR_FILENO, "cinnabar: " + text + "\n"}); }

Outlet::Line dropped_line(const ServeOptions& options, std::uint64_t count) {
    if (!options.json)
        return {STDERR_FILENO, fmt::format("cinnabar: {} messages are missing here: nobody read them\n", count)};
    JsonObject object;
    object.text("event", "dropped").number("count", count);
    return {STDOUT_FILENO, object.line() + "\n"};
}

void tell(const ServeOptions& options, Outlet& outlet, const ServerEvent& event) {
    if (options.json) {
        JsonObject object;
        object.text("event", name_of(event.kind)).name("name", event.name).text("client", event.client);
        if (event.error) {
            object.failure(*event.error);
        } else {
            object.number("bytes", event.bytes);
            if (event.checksum) object.text("checksum", fmt::format("xxh3:{:016x}", *event.checksum));
        }
        return print(outlet, object.line());
    }
    if (!options.verbose && event.kind != ServerEvent::Kind::refused) return;
    const auto name = event.name.empty() ? std::string("a session") : printable(event.name);
    const auto outcome = event.error ? explain(*event.error, event.name) : fmt::format("{} bytes", event.bytes);
    complain(outlet, fmt::format("{} {} for {}: {}", name_of(event.kind), name, event.client, outcome));
}

void tell_ready(const ServeOptions& options, Outlet& outlet, const std::string& address,
                const std::vector<std::string>& endpoints) {
    if (!options.json) return print(outlet, "listening on " + address);
    std::string list = "[";
    for (const auto& endpoint : endpoints) list += (list.size() > 1 ? ", " : "") + json_string(endpoint);
    JsonObject object;
    object.text("event", "listening").text("address", address).raw("endpoints", list + "]").name("root", options.root);
    print(outlet, object.line());
}

Result<void> serve(const ServeOptions& options, Outlet& outlet, const Interrupt& interrupt) {
    std::optional<Key> key;
    if (!options.key_file.empty()) {
        CINNABAR_TRY(auto loaded, Key::load(options.key_file));
        key.emplace(std::move(loaded));
    }
    CINNABAR_TRY(auto root, options.read_only ? Root::serve_read_only(options.root) : Root::serve(options.root));
    if (root.removed() > 0 && options.verbose)
        complain(outlet, fmt::format("removed {} unfinished files of a server that was killed", root.removed()));
    ServerOptions server_options;
    server_options.disk_threads = options.writers;
    server_options.buffers = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(options.buffer_bytes / server_options.window_bytes, 2, 1u << 16));
    CINNABAR_TRY(const auto server, Server::make(std::move(root), std::move(key), server_options,
                                                 [&](const ServerEvent& event) { tell(options, outlet, event); }));
    hl::NodeOptions node_options;
    node_options.rpc.context.spin_max = {};  // a spinning loop takes the core from the threads that write
    allow_descriptors(server_options.files_max, node_options.transport);
    auto listening = hl::Node::listen(std::span<const std::string>(options.listen), node_options);
    if (!listening) {
        Error error = std::move(listening).error();
        if (error.code == Errc::unsupported) error.code = Errc::bad_address;  // no such transport
        return error;
    }
    const auto node = std::move(*listening);
    CINNABAR_TRY_VOID(server->serve_on(node));
    auto endpoints = node.endpoints();
    // A node also reaches itself; that way is of no use to others.
    std::erase_if(endpoints, [](const std::string& endpoint) { return endpoint.starts_with("self://"); });
    if (endpoints.empty()) return Error{Errc::bad_address, "nobody could reach that: listen on tcp://HOST:PORT"};
    if (!options.ready_file.empty()) CINNABAR_TRY_VOID(write_ready_file(options.ready_file, node.address()));
    tell_ready(options, outlet, node.address(), endpoints);
    interrupt.wait();
    if (!server->drain(std::chrono::duration<double>(options.drain_seconds)))
        return Error{Errc::timed_out, "files were still under way; they were given up"};
    return {};
}

}  // namespace

ExitCode run_serve(const ServeOptions& options) {
    const Interrupt interrupt;
    if (const auto may = check_listen(options); !may) {
        complain(may.error().message());
        return ExitCode::usage;
    }
    Outlet outlet([&options](std::uint64_t count) { return dropped_line(options, count); });
    const auto served = serve(options, outlet, interrupt);
    if (served) return ExitCode::ok;
    complain(outlet, served.error().message());
    return served.code() == Errc::bad_address ? ExitCode::usage : exit_code(served.code());
}

}  // namespace cinnabar::tools
