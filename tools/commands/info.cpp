// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/reach.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"
#include "terminal/units.hpp"

#include <cinnabar/files/ping.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/context.hpp>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

namespace cinnabar::tools {
namespace {

// One transport of this machine: open, or why it could not be opened.
struct Offer {
    std::string scheme;
    std::string description;
    std::unique_ptr<na::Transport> transport;
    std::optional<Error> obstacle;
};

std::vector<Offer> look_at_transports() {
    na::Registry registry;
    add_builtin(registry);
    std::vector<Offer> offers;
    for (const auto& plugin : registry.plugins()) {
        Offer offer{std::string(plugin.scheme), std::string(plugin.description), nullptr, std::nullopt};
        auto opened = registry.open(offer.scheme + "://", {});
        if (opened.code() == Errc::bad_address)
            opened = registry.open(offer.scheme + "://info", {});  // the transport requires a name
        if (opened)
            offer.transport = *std::move(opened);
        else
            offer.obstacle = opened.error();
        offers.push_back(std::move(offer));
    }
    return offers;
}

std::string caps_of(const na::Caps& caps) {
    std::string text;
    const auto add = [&](bool has, std::string_view name) {
        if (has) text.append(text.empty() ? "" : ", ").append(name);
    };
    add(caps.ordered, "ordered");
    add(caps.put_notify, "put-notify");
    add(caps.atomics, caps.atomics_by_device ? "atomics by the device" : "atomics by the owner");
    add(caps.offset_addressing, "offset addressing");
    add(caps.revocable, "revocable leases");
    add(caps.detects_loss, "detects loss");
    add(caps.wait_fd, "sleeps in the kernel");
    add(caps.same_host_only, "this host only");
    add(caps.views, "memory in place");
    add(caps.confines, "leases for one peer");
    add(caps.admits_guests, "leases for guests");
    return text.empty() ? "messages, put, get" : text;
}

void print_limits(const na::Limits& limits) {
    const auto row = [](std::string_view name, const std::string& value) {
        print_line(fmt::format("      {:22} {}", name, value));
    };
    row("message_bytes_max", human_bytes(limits.message_bytes_max));
    row("rma_bytes_max", human_bytes(limits.rma_bytes_max));
    row("segments_max", fmt::format("{}", limits.segments_max));
    row("op_segments_max", fmt::format("{}", limits.op_segments_max));
    row("rma_inflight_max", fmt::format("{}", limits.rma_inflight_max));
    row("receive_slots", fmt::format("{}", limits.receive_slots));
}

// Limitations of this machine that affect the commands; each is a sentence.
std::vector<std::string> obstacles() {
    std::vector<std::string> found;
    if (const auto root = files::Root::open("."); !root && root.code() == Errc::unsupported)
        found.push_back("the kernel has no openat2 (Linux 5.6 or later): serve and fetch refuse to work");
    if (::epoll_pwait2(-1, nullptr, 0, nullptr, nullptr) != 0 && (errno == ENOSYS || errno == EPERM))
        found.push_back("there is no epoll_pwait2 (Linux 5.11 or later): sleeps end up to a millisecond late");
    rlimit files{};
    constexpr rlim_t few_files = 1024;
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur <= few_files)
        found.push_back(fmt::format("at most {} files may be open: a server of many clients wants more (ulimit -n)",
                                    files.rlim_cur));
    return found;
}

// The round-trip time to a server, and the transport's diagnosis of the connection.
struct Answer {
    double seconds = 0;
    std::string by;
};

std::string diagnosis_of(const hl::Node& node) {
    na::Context& context = node.rpc_context().na();
    std::string text;
    for (const auto& port : context.ports()) {
        const na::Transport& transport = context.transport_of(*port);
        if (transport.scheme() == "self") continue;
        text += (text.empty() ? "" : "; ") + std::string(transport.scheme()) + ": " + transport.diagnosis();
    }
    return text;
}

Result<Answer> look_at_server(const std::string& uri, const na::TlsOptions& tls) {
    CINNABAR_TRY(const auto remote, parse_remote_path(uri));
    CINNABAR_TRY(const auto reached, reach(remote.server, {}, 1, tls));
    hl::CallOptions options;
    options.deadline = std::chrono::seconds(5);
    // The first call connects; the second one measures the round trip.
    CINNABAR_TRY(const auto first, reached.node.call(files::ping_rpc, reached.peer, std::uint64_t{0}, options).wait());
    (void)first;
    const auto begin = std::chrono::steady_clock::now();
    CINNABAR_TRY(const auto second, reached.node.call(files::ping_rpc, reached.peer, std::uint64_t{1}, options).wait());
    (void)second;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return Answer{took.count(), diagnosis_of(reached.node)};
}

std::string json_of(const Offer& offer) {
    JsonObject object;
    object.text("scheme", offer.scheme).text("description", offer.description).flag("ok", !offer.obstacle);
    if (offer.obstacle) return object.failure(*offer.obstacle).line();
    const auto& limits = offer.transport->limits();
    object.text("capabilities", caps_of(offer.transport->caps()));
    object.text("found", offer.transport->diagnosis());
    object.number("message_bytes_max", std::uint64_t{limits.message_bytes_max});
    object.number("rma_bytes_max", std::uint64_t{limits.rma_bytes_max});
    object.number("segments_max", std::uint64_t{limits.segments_max});
    object.number("receive_slots", std::uint64_t{limits.receive_slots});
    return object.line();
}

void print_json(const std::vector<Offer>& offers, const std::optional<Result<Answer>>& server) {
    std::string transports = "[";
    for (const auto& offer : offers) transports += (transports.size() > 1 ? ", " : "") + json_of(offer);
    std::string problems = "[";
    for (const auto& problem : obstacles()) problems += (problems.size() > 1 ? ", " : "") + json_string(problem);
    JsonObject object;
    object.text("version", CINNABAR_VERSION).raw("transports", transports + "]").raw("obstacles", problems + "]");
    if (server) {
        JsonObject answer;
        answer.flag("ok", server->ok());
        if (server->ok())
            answer.number("round_trip_seconds", (*server)->seconds).text("reached_by", (*server)->by);
        else
            answer.failure(server->error());
        object.raw("server", answer.line());
    }
    print_line(object.line());
}

void print_people(const InfoOptions& options, const std::vector<Offer>& offers,
                  const std::optional<Result<Answer>>& server) {
    print_line(fmt::format("cinnabar {}", CINNABAR_VERSION));
    print_line("transports:");
    for (const auto& offer : offers) {
        print_line(fmt::format("  {:6} {}", offer.scheme + "://", offer.description));
        if (offer.obstacle) {
            print_line("      not here: " + offer.obstacle->message());
            continue;
        }
        if (options.verbose) {
            print_line("      can                    " + caps_of(offer.transport->caps()));
            print_limits(offer.transport->limits());
            if (const auto found = offer.transport->diagnosis(); !found.empty()) {
                print_line("      found                  " + found);
            }
        }
    }
    for (const auto& problem : obstacles()) print_line("note: " + problem);
    if (!server) return;
    if (server->ok()) {
        const std::chrono::duration<double> took((*server)->seconds);
        print_line(fmt::format("{} answers in {}", options.to, human_latency(took)));
        if (options.verbose) print_line("      reached by             " + (*server)->by);
    } else {
        complain(options.to + ": " + server->error().message());
    }
}

}  // namespace

ExitCode run_info(const InfoOptions& options) {
    const auto offers = look_at_transports();
    std::optional<Result<Answer>> server;
    if (!options.to.empty()) server.emplace(look_at_server(options.to, options.tls));
    if (options.json)
        print_json(offers, server);
    else
        print_people(options, offers, server);
    return server && !server->ok() ? exit_code(server->code()) : ExitCode::ok;
}

}  // namespace cinnabar::tools
