// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/descriptors.hpp"
#include "commands/policy_file.hpp"
#include "commands/reach.hpp"
#include "commands/server_messages.hpp"
#include "group_files/member.hpp"
#include "perf/service.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/automatic_key.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cinnabar::tools {
namespace {

Result<void> check_listen(const ServeOptions& options) {
    for (const auto& uri : options.listen) {
        CINNABAR_TRY(const bool local, stays_on_host(uri));
        if (local || proves_peers(uri) || options.insecure) continue;
        if (options.key_file.empty())
            return Error{Errc::invalid_argument, "others can reach that address: give --key-file, or --insecure", uri};
        if (!options.clear && !uri.starts_with("shm://"))
            return Error{Errc::invalid_argument,
                         "files would cross the network in the clear there: listen on tcps:// or ofis+PROVIDER://, "
                         "with the same key, or give --clear to allow it",
                         uri};
    }
    return {};
}

// Writes the file atomically, so that a process that waits for it never reads half of it.
Result<void> write_ready_file(const std::string& path, const std::string& address) {
    const auto folder = path.find('/') == std::string::npos ? std::string(".") : std::string(files::parent_of(path));
    CINNABAR_TRY(const auto root, files::Root::open(folder.empty() ? "/" : folder));
    const auto text = address + "\n";
    CINNABAR_TRY(auto file, root.create(files::leaf_of(path), text.size(), 0644, files::Existing::replace));
    CINNABAR_TRY_VOID(file.write(0, as_bytes(text)));
    return file.commit();
}

// The key that clients must prove. If no key was given and other users of the host can connect, the server generates a
// key, which clients of the server's own user find automatically.
struct ServerKey {
    std::optional<files::Key> key;
    std::optional<files::AutomaticKey> automatic;
};

Result<ServerKey> key_for(const ServeOptions& options) {
    ServerKey result;
    if (std::ranges::all_of(options.listen, proves_peers)) return result;  // the transport verifies clients
    if (!options.key_file.empty()) {
        CINNABAR_TRY(auto loaded, files::Key::load(options.key_file));
        result.key.emplace(std::move(loaded));
    } else if (!options.insecure && !std::ranges::all_of(options.listen, admits_own_user_only)) {
        result.automatic.emplace(files::AutomaticKey::make());
        result.key.emplace(result.automatic->key());
    }
    return result;
}

Result<void> publish_key(ServerKey& key, const std::vector<std::string>& endpoints) {
    for (const auto& endpoint : endpoints) {
        if (!key.automatic) {
            files::forget_automatic_key(endpoint);
        } else {
            CINNABAR_TRY_VOID(key.automatic->publish(endpoint));
        }
    }
    return {};
}

files::ServerOptions server_options_of(const ServeOptions& options, const Descriptors& may_open) {
    files::ServerOptions result;
    result.disk_threads = options.writers;
    result.buffers =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(options.buffer_bytes / result.window_bytes, 2, 1u << 16));
    result.files_max = may_open.files;
    result.session_files_max = may_open.session_files;
    if (options.client_bytes) result.session_bytes_max = *options.client_bytes;
    if (options.client_quota) result.client_bytes_max = *options.client_quota;
    if (options.client_quota_files) result.client_files_max = *options.client_quota_files;
    result.client_bytes_per_second = options.bytes_per_second;
    return result;
}

files::KeptFree kept_free(const ServeOptions& options) {
    const files::KeptFree otherwise = files::default_kept_free(options.root);
    return {options.keep_free_bytes.value_or(otherwise.bytes), options.keep_free_files.value_or(otherwise.files)};
}

files::RemainsLimits staged_limits(const ServeOptions& options) {
    files::RemainsLimits limits;
    limits.bytes = options.staged_bytes.value_or(files::disk_bytes(options.root) / 4);
    limits.age =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::duration<double>(options.staged_hours * 3600));
    return limits;
}

Result<hl::Node> listen(const ServeOptions& options, std::uint32_t connections_max) {
    hl::NodeOptions node_options;
    node_options.rpc.context.spin_max = {};  // a spinning loop would take CPU time from the disk threads
    node_options.transport.connections_max = connections_max;
    node_options.transport.tls = with_key(options.tls, options.key_file);
    node_options.strangers_may_call = true;  // check_listen has verified this
    node_options.introspection = options.introspection;
    CINNABAR_TRY(node_options.rpc.policy, group_files::group_policy(options));
    auto listening = hl::Node::listen(std::span<const std::string>(options.listen), node_options);
    if (listening || listening.code() != Errc::unsupported) return listening;
    Error error = std::move(listening).error();
    error.code = Errc::bad_address;  // no such transport
    return error;
}

// Serves the perf service, by which `cinnabar perf` and `cinnabar doctor` measure, if --perf was given.
Result<std::optional<perf::Service>> measured_on(const hl::NodeRef& node, const ServeOptions& options) {
    std::optional<perf::Service> service;
    if (!options.perf) return service;
    perf::ServiceOptions service_options;
    service_options.release = CINNABAR_VERSION;
    service_options.loads = {options.mesh, with_key(options.tls, options.key_file)};
    CINNABAR_TRY(service, perf::Service::serve_on(node, service_options));
    return service;
}

Result<void> serve(const ServeOptions& options, ServerMessages& messages, const Interrupt& interrupt) {
    CINNABAR_TRY(auto key, key_for(options));
    CINNABAR_TRY(auto root, options.read_only
                                ? files::Root::serve_read_only(options.root)
                                : files::Root::serve(options.root, kept_free(options), staged_limits(options)));
    if (root.removed() > 0 && options.verbose)
        messages.complain(fmt::format("removed {} unfinished files that cannot be resumed", root.removed()));
    const files::ServerOptions defaults;
    const Descriptors wanted{defaults.files_max, options.client_files, na::TransportOptions().connections_max};
    const auto may_open = divide_descriptors(raise_descriptor_limit(), wanted, options.writers);
    files::ServerOptions server_options = server_options_of(options, may_open);
    PolicyFile policy_file(options.policy_file);
    CINNABAR_TRY(server_options.policy, policy_file.load());
    CINNABAR_TRY(const auto server,
                 files::Server::make(std::move(root), std::move(key.key), server_options,
                                     {.ended = [&](const files::ServerEvent& event) { messages.tell(event); }}));
    CINNABAR_TRY(const auto node, listen(options, may_open.connections));
    CINNABAR_TRY_VOID(server->serve_on(node));
    CINNABAR_TRY(const auto measured, measured_on(node, options));
    CINNABAR_TRY(const auto followed, FollowedPolicy::make(policy_file, *server));
    auto endpoints = node.endpoints();
    // Leaves out self://, which is of no use to other processes.
    std::erase_if(endpoints, [](const std::string& endpoint) { return endpoint.starts_with("self://"); });
    if (endpoints.empty()) return Error{Errc::bad_address, "no client can reach it: listen on tcp://HOST:PORT"};
    CINNABAR_TRY_VOID(publish_key(key, endpoints));
    CINNABAR_TRY(const auto group, group_files::become_member(options, node, interrupt));
    if (!options.ready_file.empty()) CINNABAR_TRY_VOID(write_ready_file(options.ready_file, node.address()));
    messages.ready(node.address(), endpoints);
    interrupt.wait();
    if (group) group->leave();
    if (!server->drain(std::chrono::duration<double>(options.drain_seconds)))
        return Error{Errc::timed_out, "unfinished files were stopped: raise --drain"};
    return {};
}

}  // namespace

ExitCode run_serve(const ServeOptions& options) {
    const Interrupt interrupt;
    auto may = check_listen(options);
    if (may) may = group_files::check_group(options);
    if (!may) {
        complain(may.error().message());
        return ExitCode::usage;
    }
    ServerMessages messages(options);
    const auto served = serve(options, messages, interrupt);
    if (served) return ExitCode::ok;
    messages.complain(served.error().message());
    return served.code() == Errc::bad_address ? ExitCode::usage : exit_code(served.code());
}

}  // namespace cinnabar::tools
