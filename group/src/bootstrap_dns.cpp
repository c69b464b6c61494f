// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap_dns.hpp"

#include "back_off.hpp"
#include "off_loop.hpp"
#include "permanent.hpp"
#include "service_records.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/with_deadline.hpp>
#include <cinnabar/na/uri.hpp>

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>

namespace cinnabar::group {
namespace {

using Addresses = std::vector<std::string>;

constexpr std::size_t addresses_max = 256;

Result<std::string> to_text(const addrinfo& found) {
    char text[INET6_ADDRSTRLEN] = {};
    const bool six = found.ai_family == AF_INET6;
    const void* const at =
        six ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(found.ai_addr)->sin6_addr)
            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(found.ai_addr)->sin_addr);
    if (!::inet_ntop(found.ai_family, at, text, sizeof text)) return Errc::bad_address;
    return std::string(text);
}

void add_once(Addresses& addresses, std::string address) {
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
        addresses.push_back(std::move(address));
}

// Resolves a host name. Blocks.
Result<Addresses> look_up_host(const std::string& uri) {
    CINNABAR_TRY(na::Uri parsed, na::Uri::parse(uri));
    if (parsed.host.empty() || !parsed.port)
        return Error(Errc::bad_address, "name a host and a port: dns:tcp://HOST:PORT", uri);
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int failed = ::getaddrinfo(parsed.host.c_str(), nullptr, &wanted, &list);
    if (failed != 0) return Error(Errc::bad_address, "the host has no address: check the name", uri);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
    Addresses addresses;
    for (const addrinfo* each = list; each && addresses.size() < addresses_max; each = each->ai_next) {
        CINNABAR_TRY(parsed.host, to_text(*each));
        add_once(addresses, parsed.to_string());
    }
    return addresses;
}

// The state of the C library's resolver, for one question.
class ResolverState {
  public:
    explicit ResolverState(const NameServer& server) : ready_(::res_ninit(&state_) == 0) {
        if (!server) return;
        state_.nsaddr_list[0] = *server;
        state_.nscount = 1;
    }
    ~ResolverState() {
        if (ready_) ::res_nclose(&state_);
    }
    ResolverState(const ResolverState&) = delete;
    ResolverState& operator=(const ResolverState&) = delete;

    [[nodiscard]] bool ready() const noexcept { return ready_; }
    // Returns the length of the message, or a negative number: see why().
    int ask_for_services(const std::string& name, std::span<unsigned char> into) {
        return ::res_nquery(&state_, name.c_str(), ns_c_in, ns_t_srv, into.data(), static_cast<int>(into.size()));
    }
    [[nodiscard]] int why() const noexcept { return state_.res_h_errno; }

  private:
    struct __res_state state_ {};
    bool ready_;
};

Error why_not(int resolver_error, const std::string& uri) {
    switch (resolver_error) {
        case HOST_NOT_FOUND:
        case NO_DATA:
            return Error(Errc::bad_address, "the service has no SRV record: check the name", uri);
        case TRY_AGAIN:
            return Error(Errc::unreachable, "no name server answers, or it has no answer now", uri);
        default:
            return Error(Errc::io, "the name server cannot answer this question", uri);
    }
}

using Resolve = std::function<hl::Task<Result<Addresses>>()>;

hl::Task<Result<Group>> join_by_name(hl::NodeRef node, Resolve resolve, GroupOptions options) {
    constexpr Microseconds seed_time{2'000'000};
    const TimeUs end = after(node.rpc_context().now_us(), options.join_time);
    const auto time_left = [node, end] {
        const TimeUs now = node.rpc_context().now_us();
        return Microseconds(end > now ? end - now : 1);
    };
    Random random(secret_u64());
    BackOff pauses(random, Microseconds(200'000), Microseconds(2'000'000));
    for (;;) {
        auto looking = with_deadline(resolve(), time_left());
        Result<Addresses> seeds = co_await looking;
        const Microseconds left = time_left();
        Microseconds attempt_time = seed_time;
        Result<Group> joined = Error(Errc::bad_address);
        if (seeds) {
            // With seeds_in_order, an attempt has time for each seed, but at most a quarter of join_time, because the
            // name may have more addresses when it is resolved for the next attempt. Otherwise each attempt begins with
            // a random seed.
            const auto for_all = seed_time * static_cast<std::int64_t>(seeds->size());
            if (options.seeds_in_order) attempt_time = std::clamp(options.join_time / 4, seed_time, for_all);
            GroupOptions attempt = options;
            attempt.join_time = std::min(attempt_time, left);
            auto joining = Group::join(node, *std::move(seeds), std::move(attempt));
            joined = co_await joining;
        } else {
            joined = std::move(seeds).error();
            if (joined.code() != Errc::bad_address && joined.code() != Errc::unreachable) co_return joined;
        }
        if (joined || left <= attempt_time || is_permanent(joined.code())) co_return joined;
        const Errc slept = co_await node.sleep_for(std::min(pauses.next(), left - attempt_time));
        if (slept != Errc::ok) co_return slept;
    }
}

}  // namespace

Result<std::vector<std::string>> look_up_service(const std::string& uri, const NameServer& server) {
    CINNABAR_TRY(na::Uri parsed, na::Uri::parse(uri));
    if (parsed.host.empty() || parsed.port)
        return Error(Errc::bad_address, "name a service, without a port: srv:tcp://_SERVICE._tcp.DOMAIN", uri);
    ResolverState resolver(server);
    if (!resolver.ready()) return Error(Errc::io, "the system's resolver does not start", uri);
    std::vector<unsigned char> message(NS_MAXMSG);
    const int length = resolver.ask_for_services(parsed.host, message);
    if (length < 0) return why_not(resolver.why(), uri);
    message.resize(std::min(message.size(), static_cast<std::size_t>(length)));
    CINNABAR_TRY(std::vector<ServiceRecord> records, decode_services(std::as_bytes(std::span(message))));
    if (records.empty()) return Error(Errc::bad_address, "the service is not offered: it has no host", uri);
    Random random(secret_u64());
    order_services(records, random);
    Addresses addresses;
    for (ServiceRecord& record : records) {
        if (addresses.size() == addresses_max) break;
        parsed.host = std::move(record.host);
        parsed.port = record.port;
        std::string address = parsed.to_string();
        if (na::Addr::parse(address).ok()) add_once(addresses, std::move(address));  // a host may be too long
    }
    if (addresses.empty()) return Error(Errc::bad_address, "no host of the service can be an address", uri);
    return addresses;
}

hl::Task<Result<std::vector<std::string>>> addresses_of_name(hl::NodeRef node, std::string uri) {
    auto looking = off_loop(node, [uri = std::move(uri)] { return look_up_host(uri); });
    co_return co_await looking;
}

hl::Task<Result<std::vector<std::string>>> addresses_of_service(hl::NodeRef node, std::string uri) {
    auto looking = off_loop(node, [uri = std::move(uri)] { return look_up_service(uri, {}); });
    co_return co_await looking;
}

hl::Task<Result<Group>> join_by_host(hl::NodeRef node, std::string uri, GroupOptions options) {
    auto joining = join_by_name(
        node, [node, uri] { return addresses_of_name(node, uri); }, std::move(options));
    co_return co_await joining;
}

hl::Task<Result<Group>> join_by_service(hl::NodeRef node, std::string uri, GroupOptions options, NameServer server) {
    options.seeds_in_order = true;
    const auto look_up = [uri, server] { return look_up_service(uri, server); };
    auto joining = join_by_name(
        node, [node, look_up] { return off_loop(node, look_up); }, std::move(options));
    co_return co_await joining;
}

}  // namespace cinnabar::group
