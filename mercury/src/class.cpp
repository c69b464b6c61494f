// SPDX-License-Identifier: BSD-3-Clause
#include "class.hpp"

#include "bulk.hpp"
#include "context.hpp"
#include "errors.hpp"
#include "log.hpp"

#include <algorithm>
#include <vector>

using namespace cinnabar;
using mercury::failed;
using mercury::guarded;

namespace {

// For HG_Diag_dump_counters.
struct Living {
    std::mutex mutex;
    std::vector<hg_class*> classes;
};
Living& living() {
    static auto* const all = new Living;  // never destroyed: classes may be finalized during exit
    return *all;
}

// Reads the fields that were added in 2.4 only if `version` says that the structure has them.
hg_init_info known_options(const hg_init_info* options, unsigned version) {
    hg_init_info known = HG_INIT_INFO_INITIALIZER;
    if (!options) return known;
    known = *options;
    if (HG_VERSION_LT(version, HG_VERSION(2u, 4u))) {
        known.traffic_class = NA_TC_UNSPEC;
        known.no_overflow = false;
        known.multi_recv_op_max = 0;
        known.multi_recv_copy_threshold = 0;
    }
    return known;
}

na_init_info with_class_of_traffic(const na_init_info_4_0& options, na_traffic_class traffic) {
    return {options.ip_subnet,           options.auth_key,
            options.max_unexpected_size, options.max_expected_size,
            options.progress_mode,       options.addr_format,
            options.max_contexts,        options.thread_mode,
            options.request_mem_device,  traffic};
}

// Returns the transports of the class: its network, which is open already; with auto_sm, shared memory for peers on
// this host; and, if the class does not listen, a loopback, because the class could not dial itself otherwise.
Result<std::vector<std::shared_ptr<na::Transport>>> open_transports(const hg_class& owner) {
    const na_class& network = *owner.network;
    const na::TransportOptions wanted =
        mercury::transport_options(network.options, network.listen, network.info.patience);
    std::vector<std::shared_ptr<na::Transport>> transports{network.transport};
    const auto add = [&](const std::string& uri) -> Result<void> {
        CINNABAR_TRY(auto transport, mercury::open_transport(uri, wanted));
        transports.push_back(std::move(transport));
        return {};
    };
    const std::string& scheme = network.info.scheme;
    const bool of_this_host = scheme == "shm" || scheme == "self" || scheme == "sim";
    if (owner.options.auto_sm && !of_this_host) {
        const char* const name = owner.options.sm_info_string;
        CINNABAR_TRY_VOID(add("shm://" + std::string(name && network.listen ? name : "")));
    }
    if (!network.listen && scheme != "self") CINNABAR_TRY_VOID(add("self://"));
    return transports;
}

hg_return_t open_class(const char* info_string, bool listen, unsigned version, const hg_init_info* options,
                       hg_class_t** out) {
    auto made = std::make_unique<hg_class>();
    made->options = known_options(options, version);
    made->network = made->options.na_class;
    if (!made->network) {
        const na_init_info network = with_class_of_traffic(made->options.na_init_info, made->options.traffic_class);
        made->network =
            NA_Initialize_opt2(info_string, listen, NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR), &network);
        made->owns_network = true;
        if (!made->network) return HG_PROTONOSUPPORT;
    }
    ++made->network->users;
    const auto give_back = [&](const Error& error) {
        --made->network->users;
        if (made->owns_network) (void)NA_Finalize(made->network);
        return failed("HG_Init", error);
    };
    auto transports = open_transports(*made);
    if (!transports) return give_back(transports.error());
    auto engine = rpc::Engine::open(*std::move(transports));
    if (!engine) return give_back(engine.error());
    made->engine = *std::move(engine);
    made->input_eager = made->engine->input_bytes_eager();
    made->output_eager = made->engine->output_bytes_eager();
    const std::lock_guard lock(living().mutex);
    living().classes.push_back(made.get());
    *out = made.release();
    return HG_SUCCESS;
}

}  // namespace

hg_diag_counters hg_class::read_counters() const {
    hg_diag_counters read{};
    const std::lock_guard lock(counted_mutex);
    mercury::Tallies all = counted_before;
    for (hg_context* context : counted) context->add_tallies(all);
    counters.read(all, read);
    return read;
}

na::Addr hg_class::known_as(na::ContextId context) const {
    if (network->listen) return self().with_context(context);
    return mercury::self_of(*network->transport).with_context(context);
}

bool hg_class::is_me(const na::Addr& addr) const {
    if (addr.empty()) return false;
    const auto& transports = engine->transports();
    if (addr.is_connection()) return addr.body().own;
    const na::Incarnation born = addr.body().incarnation;
    if (born != 0) {
        return std::any_of(transports.begin(), transports.end(),
                           [&](const auto& transport) { return transport->incarnation() == born; });
    }
    return mercury::same_peer(addr, self().with_context(addr.body().context));
}

hg_class_t* HG_Init(const char* info_string, uint8_t listen) { return HG_Init_opt(info_string, listen, nullptr); }

hg_class_t* HG_Init_opt(const char* info_string, uint8_t listen, const struct hg_init_info* options) {
    return HG_Init_opt2(info_string, listen, HG_VERSION(2, 2), options);
}

hg_class_t* HG_Init_opt2(const char* info_string, uint8_t listen, unsigned int version,
                         const struct hg_init_info* options) {
    mercury::read_log_environment();
    hg_class_t* opened = nullptr;
    (void)guarded([&] { return open_class(info_string, listen != 0, version, options, &opened); });
    return opened;
}

hg_return_t HG_Finalize(hg_class_t* hg_class) {
    if (!hg_class) return HG_SUCCESS;
    if (hg_class->bulks != 0) return failed("HG_Finalize: free all bulk handles first", HG_BUSY);
    if (hg_class->contexts != 0) return failed("HG_Finalize: destroy all contexts first", HG_BUSY);
    if (hg_class->addrs != 0) return failed("HG_Finalize: free all addresses first", HG_BUSY);
    {
        const std::lock_guard lock(living().mutex);
        std::erase(living().classes, hg_class);
    }
    if (hg_class->options.stats) mercury::write_always(mercury::text_of(hg_class->read_counters()));
    if (hg_class->data_free) hg_class->data_free(hg_class->data);
    hg_class->engine.reset();
    for (auto& lend : hg_class->quarantine) {
        if (lend->quarantined()) lend->forget();
        if (lend->granted()) (void)lend.release();  // its fence never completed, and its network is gone
    }
    --hg_class->network->users;
    if (hg_class->owns_network) (void)NA_Finalize(hg_class->network);
    delete hg_class;
    return HG_SUCCESS;
}

void HG_Cleanup(void) { NA_Cleanup(); }

hg_return_t HG_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch) {
    if (major) *major = HG_VERSION_MAJOR;
    if (minor) *minor = HG_VERSION_MINOR;
    if (patch) *patch = HG_VERSION_PATCH;
    return HG_SUCCESS;
}

hg_return_t HG_Get_na_protocol_info(const char* info_string, struct na_protocol_info** list) {
    return static_cast<hg_return_t>(NA_Get_protocol_info(info_string, list));
}
void HG_Free_na_protocol_info(struct na_protocol_info* list) { NA_Free_protocol_info(list); }

void HG_Diag_dump_counters(void) {
    const std::lock_guard lock(living().mutex);
    for (const hg_class* each : living().classes) {
        (void)guarded([&] {
            mercury::write_always(each->network->info.prefix + " " + mercury::text_of(each->read_counters()));
            return HG_SUCCESS;
        });
    }
}

hg_return_t HG_Class_get_counters(const hg_class_t* hg_class, struct hg_diag_counters* counters) {
    if (!hg_class || !counters) return HG_INVALID_ARG;
    *counters = hg_class->read_counters();
    return HG_SUCCESS;
}

const char* HG_Class_get_name(const hg_class_t* hg_class) {
    return hg_class ? NA_Get_class_name(hg_class->network) : nullptr;
}
const char* HG_Class_get_protocol(const hg_class_t* hg_class) {
    return hg_class ? NA_Get_class_protocol(hg_class->network) : nullptr;
}
bool HG_Class_is_listening(const hg_class_t* hg_class) { return hg_class && NA_Is_listening(hg_class->network); }
hg_size_t HG_Class_get_input_eager_size(const hg_class_t* hg_class) { return hg_class ? hg_class->input_eager : 0; }
hg_size_t HG_Class_get_output_eager_size(const hg_class_t* hg_class) { return hg_class ? hg_class->output_eager : 0; }

hg_return_t HG_Class_set_input_offset(hg_class_t* hg_class, hg_size_t offset) {
    if (!hg_class || offset > HG_Class_get_input_eager_size(hg_class)) return HG_INVALID_ARG;
    hg_class->in_offset = offset;
    return HG_SUCCESS;
}
hg_return_t HG_Class_set_output_offset(hg_class_t* hg_class, hg_size_t offset) {
    if (!hg_class || offset > HG_Class_get_output_eager_size(hg_class)) return HG_INVALID_ARG;
    hg_class->out_offset = offset;
    return HG_SUCCESS;
}

hg_return_t HG_Class_set_data(hg_class_t* hg_class, void* data, void (*free_callback)(void*)) {
    if (!hg_class) return HG_INVALID_ARG;
    hg_class->data = data;
    hg_class->data_free = free_callback;
    return HG_SUCCESS;
}
void* HG_Class_get_data(const hg_class_t* hg_class) { return hg_class ? hg_class->data : nullptr; }

hg_return_t HG_Class_set_handle_create_callback(hg_class_t* hg_class, hg_return_t (*callback)(hg_handle_t, void*),
                                                void* arg) {
    if (!hg_class) return HG_INVALID_ARG;
    hg_class->handle_created = callback;
    hg_class->handle_created_arg = arg;
    return HG_SUCCESS;
}
