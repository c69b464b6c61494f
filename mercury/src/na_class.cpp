// SPDX-License-Identifier: BSD-3-Clause
#include "na_class.hpp"

#include "errors.hpp"
#include "log.hpp"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <algorithm>

namespace cinnabar::mercury {
namespace {

Result<std::unique_ptr<na_class>> open_class(const char* info_string, bool listen, const na_init_info_4_0& options) {
    if (!info_string)
        return Error(Errc::invalid_argument, "the info string is NULL: write for example na+sm or ofi+tcp");
    auto opened = std::make_unique<na_class>();
    CINNABAR_TRY(opened->info, InfoString::parse(info_string));
    opened->listen = listen;
    opened->options = options;
    CINNABAR_TRY(opened->transport,
                 open_transport(opened->info.uri, transport_options(options, listen, opened->info.patience)));
    opened->info.opened_as(opened->transport->scheme());
    return opened;
}

// The two structures have the same first fields.
na_init_info_4_0 without_class_of_traffic(const na_init_info& info) {
    return {info.ip_subnet,   info.auth_key,     info.max_unexpected_size, info.max_expected_size, info.progress_mode,
            info.addr_format, info.max_contexts, info.thread_mode,         info.request_mem_device};
}

}  // namespace

na::TransportOptions transport_options(const na_init_info_4_0& options, bool listen, Microseconds patience) {
    na::TransportOptions wanted;
    wanted.listen = listen;
    wanted.connect_timeout = wanted.hello_timeout = wanted.keepalive = patience;
    constexpr std::uint32_t contexts_max = 1024;  // only 256 of them can have their own id
    wanted.contexts_max = contexts_max;
    // Half of them are for responses: handlers may keep as many calls waiting as there are slots, without a deadline.
    constexpr std::uint32_t receive_slots = 131'072;
    wanted.receive_slots = receive_slots;
    // The transport has one limit for both kinds of messages.
    const std::size_t message = std::max(options.max_unexpected_size, options.max_expected_size);
    if (message != 0) wanted.message_bytes_max = message;
    return wanted;
}

Result<std::shared_ptr<na::Transport>> open_transport(const std::string& uri, const na::TransportOptions& options) {
    na::Registry registry;
    add_builtin(registry);
    CINNABAR_TRY(std::unique_ptr<na::Transport> transport, registry.open(uri, options));
    return std::shared_ptr<na::Transport>(std::move(transport));
}

na::Addr self_of(const na::Transport& transport) {
    std::vector<std::string> endpoints = transport.endpoints();
    if (!endpoints.empty()) return na::Addr::make(std::move(endpoints), 0, 0);
    return na::Addr::make({}, 0, transport.incarnation());
}

bool same_peer(const na::Addr& one, const na::Addr& other) noexcept {
    if (one == other) return true;
    if (one.empty() || other.empty() || one.body().context != other.body().context) return false;
    if (one.is_connection() || other.is_connection())
        return false;  // the identity that a connection claims proves nothing
    const na::Incarnation a = one.body().incarnation;
    const na::Incarnation b = other.body().incarnation;
    if (a != 0 && b != 0) return a == b;
    const auto& endpoints = other.body().endpoints;
    return std::any_of(one.body().endpoints.begin(), one.body().endpoints.end(), [&](const std::string& endpoint) {
        return std::find(endpoints.begin(), endpoints.end(), endpoint) != endpoints.end();
    });
}

std::string printed(const na_class& na_class, const na::Addr& addr) {
    if (!addr.listens()) return addr.to_string();
    std::vector<std::string> firsts;
    const auto scheme_of = [](std::string_view text) { return text.substr(0, text.find("://")); };
    for (const std::string& endpoint : addr.body().endpoints) {
        const bool another = std::none_of(firsts.begin(), firsts.end(), [&](const std::string& first) {
            return scheme_of(first) == scheme_of(endpoint);
        });
        if (another) firsts.push_back(endpoint);
    }
    const na::Addr shortened = na::Addr::make(std::move(firsts), addr.body().context, addr.body().incarnation);
    return with_prefix(shortened.to_string(), na_class.info.scheme, na_class.info.prefix);
}

}  // namespace cinnabar::mercury

using cinnabar::mercury::failed;
using cinnabar::mercury::guarded;
using cinnabar::mercury::to_na;

namespace {

na_class_t* open(const char* info_string, bool listen, const na_init_info_4_0& options) {
    cinnabar::mercury::read_log_environment();
    na_class_t* opened = nullptr;
    (void)guarded([&] {
        auto made = cinnabar::mercury::open_class(info_string, listen, options);
        if (!made) return failed("NA_Initialize", made.error());
        opened = (*made).release();
        return HG_SUCCESS;
    });
    return opened;
}

}  // namespace

na_return_t NA_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch) {
    if (major) *major = NA_VERSION_MAJOR;
    if (minor) *minor = NA_VERSION_MINOR;
    if (patch) *patch = NA_VERSION_PATCH;
    return NA_SUCCESS;
}

na_class_t* NA_Initialize(const char* info_string, bool listen) {
    return open(info_string, listen, NA_INIT_INFO_INITIALIZER_4_0);
}
na_class_t* NA_Initialize_opt(const char* info_string, bool listen, const struct na_init_info* options) {
    return NA_Initialize_opt2(info_string, listen, NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR), options);
}
na_class_t* NA_Initialize_opt2(const char* info_string, bool listen, unsigned int, const struct na_init_info* options) {
    const na_init_info_4_0 defaults = NA_INIT_INFO_INITIALIZER_4_0;
    return open(info_string, listen, options ? cinnabar::mercury::without_class_of_traffic(*options) : defaults);
}

na_return_t NA_Finalize(na_class_t* na_class) {
    if (!na_class) return NA_SUCCESS;
    if (na_class->users != 0 || na_class->addrs != 0) {
        return to_na(failed("NA_Finalize: free all addresses and finalize all HG classes first", HG_BUSY));
    }
    delete na_class;
    return NA_SUCCESS;
}

void NA_Cleanup(void) {
    // Listening on shared memory removes the files of dead processes.
    (void)guarded([] {
        (void)cinnabar::mercury::open_transport(
            "shm://", cinnabar::mercury::transport_options({}, true, std::chrono::seconds(1)));
        return HG_SUCCESS;
    });
}

const char* NA_Get_class_name(const na_class_t* na_class) { return na_class ? na_class->info.name.c_str() : nullptr; }
const char* NA_Get_class_protocol(const na_class_t* na_class) {
    return na_class ? na_class->info.protocol.c_str() : nullptr;
}
bool NA_Is_listening(const na_class_t* na_class) { return na_class && na_class->listen; }
bool NA_Has_opt_feature(na_class_t*, unsigned long) { return false; }
size_t NA_Msg_get_max_unexpected_size(const na_class_t* na_class) {
    return na_class ? na_class->transport->limits().message_bytes_max : 0;
}
size_t NA_Msg_get_max_expected_size(const na_class_t* na_class) { return NA_Msg_get_max_unexpected_size(na_class); }
na_tag_t NA_Msg_get_max_tag(const na_class_t*) { return NA_TAG_MAX; }
void NA_Diag_dump_counters(void) {}
