// SPDX-License-Identifier: BSD-3-Clause
#include "mercury_slice.h"

#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>
#include <cinnabar/rpc/engine.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <vector>

using namespace cinnabar;

struct Procs {
    hg_proc_cb_t in = nullptr;
    hg_proc_cb_t out = nullptr;
    hg_rpc_cb_t rpc = nullptr;
    hg_class* owner = nullptr;
};

struct hg_class {
    std::shared_ptr<na::Transport> transport;
    std::unique_ptr<rpc::Engine> engine;
    std::unordered_map<hg_id_t, std::shared_ptr<Procs>> procs;
    hg_context* context = nullptr;
};
struct hg_context {
    hg_class* owner = nullptr;
    std::unique_ptr<rpc::Context> rpc;
};
struct hg_addr {
    na::Addr addr;
};

// One of Mercury's for both sides: a Call that is made at forward, since create and reset may come without an address;
// or a Request. Operations in flight hold a reference, so a destroy in mid-flight is safe.
struct hg_handle {
    hg_info info{};
    hg_addr peer;
    Procs* procs = nullptr;
    rpc::Call* call = nullptr;
    rpc::Request* request = nullptr;
    std::atomic<int> references{1};
    hg_cb_t callback = nullptr;
    void* arg = nullptr;
    uint8_t target = 0;

    void release() {
        if (--references != 0) return;
        if (call) call->release();
        if (request) request->release();
        delete this;
    }
};
struct hg_bulk {
    bulk::Region local;                // own memory ...
    std::unique_ptr<bulk::Lend> lend;  // ... lent for as long as the handle lives
    na::Addr owner;                    // bound
    std::unique_ptr<bulk::RemoteRegion> remote;
    hg_size_t bytes = 0;
};
struct hg_proc {
    hg_proc_op_t op;
    hg_class* owner;
    Writer* writer = nullptr;
    Reader* reader = nullptr;
};

namespace {

hg_return_t to_hg(Errc code) {
    switch (code) {
        case Errc::ok:
            return HG_SUCCESS;
        case Errc::canceled:
            return HG_CANCELED;
        case Errc::timed_out:
            return HG_TIMEOUT;
        case Errc::no_such_rpc:
            return HG_NOENTRY;
        case Errc::permission:
            return HG_PERMISSION;
        case Errc::protocol:
            return HG_PROTOCOL_ERROR;
        case Errc::too_large:
            return HG_OVERFLOW;
        case Errc::out_of_memory:
            return HG_NOMEM;
        case Errc::overloaded:
        case Errc::again:
            return HG_AGAIN;
        case Errc::invalid_argument:
            return HG_INVALID_ARG;
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
            return HG_HOSTUNREACH;
        default:
            return HG_OTHER_ERROR;
    }
}

void run_rpc(rpc::Request& request, void* target) noexcept {
    auto& procs = *static_cast<Procs*>(target);
    auto* handle = new (std::nothrow) hg_handle;
    if (!handle) return request.release();  // the origin is told
    handle->request = &request;             // with the reference that trigger gave
    handle->procs = &procs;
    handle->peer.addr = request.source();
    handle->info = {procs.owner, procs.owner->context, &handle->peer, request.rpc()};
    request.detach();  // Mercury's handlers may keep the handle as long as they like
    (void)procs.rpc(handle);
}

void forwarded(rpc::Call& call, void* user) noexcept {
    auto* handle = static_cast<hg_handle*>(user);
    const hg_cb_info info{handle->arg, to_hg(call.result()), HG_CB_FORWARD, handle};
    (void)handle->callback(&info);
    handle->release();
}

hg_id_t hash(const char* name) {  // Mercury's: 32 bits
    uint32_t value = 5381;
    for (; *name; ++name) value = value * 33 + static_cast<unsigned char>(*name);
    return value;
}

}  // namespace

hg_class_t* HG_Init(const char* info_string, uint8_t listen) {
    na::Registry registry;
    add_builtin(registry);
    na::TransportOptions options;
    options.listen = listen != 0;
    auto transport = registry.open(info_string, options);
    if (!transport) return nullptr;
    auto made = std::make_unique<hg_class>();
    made->transport = *std::move(transport);
    auto engine = rpc::Engine::open({made->transport});
    if (!engine) return nullptr;
    made->engine = *std::move(engine);
    return made.release();
}

hg_return_t HG_Finalize(hg_class_t* hg_class) {
    if (hg_class->context) return HG_BUSY;
    delete hg_class;
    return HG_SUCCESS;
}

hg_context_t* HG_Context_create(hg_class_t* hg_class) {
    rpc::Options options;
    options.context.threads = Threads::many;
    auto context = hg_class->engine->open_context(options);
    if (!context) return nullptr;
    hg_class->context = new hg_context{hg_class, *std::move(context)};
    return hg_class->context;
}

hg_return_t HG_Context_destroy(hg_context_t* context) {
    context->owner->context = nullptr;
    delete context;
    return HG_SUCCESS;
}

hg_id_t HG_Register_name(hg_class_t* hg_class, const char* name, hg_proc_cb_t in, hg_proc_cb_t out, hg_rpc_cb_t rpc) {
    const hg_id_t id = hash(name);
    auto procs = std::make_shared<Procs>(Procs{in, out, rpc, hg_class});
    hg_class->procs[id] = procs;
    if (!rpc) return id;
    rpc::Handler handler;
    handler.run = run_rpc;
    handler.target = procs;
    handler.name = name;
    return hg_class->engine->serve(id, 0, std::move(handler)) ? id : 0;
}

hg_return_t HG_Addr_lookup2(hg_class_t*, const char* name, hg_addr_t* addr) {
    auto parsed = na::Addr::parse(name);
    if (!parsed) return HG_INVALID_ARG;
    *addr = new hg_addr{*std::move(parsed)};
    return HG_SUCCESS;
}
hg_return_t HG_Addr_self(hg_class_t* hg_class, hg_addr_t* addr) {
    *addr = new hg_addr{hg_class->engine->self_addr()};
    return HG_SUCCESS;
}
hg_return_t HG_Addr_to_string(hg_class_t*, char* text, hg_size_t* bytes, hg_addr_t addr) {
    const std::string printed = addr->addr.to_string();
    const hg_size_t room = *bytes;
    *bytes = printed.size() + 1;
    if (!text) return HG_SUCCESS;
    if (room < *bytes) return HG_OVERFLOW;
    std::memcpy(text, printed.c_str(), *bytes);
    return HG_SUCCESS;
}
hg_return_t HG_Addr_free(hg_class_t*, hg_addr_t addr) {
    delete addr;
    return HG_SUCCESS;
}

hg_return_t HG_Create(hg_context_t* context, hg_addr_t addr, hg_id_t id, hg_handle_t* handle) {
    auto made = std::make_unique<hg_handle>();
    made->info = {context->owner, context, nullptr, 0};
    *handle = made.release();
    return addr ? HG_Reset(*handle, addr, id) : HG_SUCCESS;
}
hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id) {
    if (handle->references != 1) return HG_BUSY;
    const auto known = handle->info.hg_class->procs.find(id);
    if (known == handle->info.hg_class->procs.end()) return HG_NOENTRY;
    if (rpc::Call* call = std::exchange(handle->call, nullptr)) call->release();
    handle->procs = known->second.get();
    handle->peer = *addr;
    handle->info.addr = &handle->peer;
    handle->info.id = id;
    return HG_SUCCESS;
}
hg_return_t HG_Destroy(hg_handle_t handle) {
    handle->release();
    return HG_SUCCESS;
}
const struct hg_info* HG_Get_info(hg_handle_t handle) { return &handle->info; }
hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id) {
    handle->target = id;
    return HG_SUCCESS;
}

hg_return_t HG_Get_input(hg_handle_t handle, void* in) {
    Reader reader(handle->request->input());
    hg_proc proc{HG_DECODE, handle->info.hg_class, nullptr, &reader};
    return handle->procs->in ? handle->procs->in(&proc, in) : HG_SUCCESS;
}
hg_return_t HG_Get_output(hg_handle_t handle, void* out) {
    Reader reader(handle->call->output());
    hg_proc proc{HG_DECODE, handle->info.hg_class, nullptr, &reader};
    return handle->procs->out ? handle->procs->out(&proc, out) : HG_SUCCESS;
}

hg_return_t HG_Forward(hg_handle_t handle, hg_cb_t callback, void* arg, void* in) {
    if (!handle->procs) return HG_INVALID_ARG;
    Errc why = Errc::ok;
    if (rpc::Call* last = std::exchange(handle->call, nullptr)) last->release();
    handle->call = handle->info.context->rpc->make_call(handle->peer.addr.with_context(handle->target), why);
    if (!handle->call) return to_hg(why);
    handle->call->args.rpc = handle->info.id;
    Writer writer(handle->call->input_room());
    hg_proc proc{HG_ENCODE, handle->info.hg_class, &writer, nullptr};
    hg_return_t encoded = handle->procs->in && in ? handle->procs->in(&proc, in) : HG_SUCCESS;
    if (encoded == HG_SUCCESS && !writer.ok()) encoded = HG_OVERFLOW;
    if (encoded != HG_SUCCESS) return encoded;
    handle->callback = callback;
    handle->arg = arg;
    ++handle->references;
    why = handle->call->forward(writer.size(), forwarded, handle);
    if (why != Errc::ok) --handle->references;
    return to_hg(why);
}

hg_return_t HG_Respond(hg_handle_t handle, hg_cb_t callback, void* arg, void* out) {
    Writer writer(handle->request->output_room());
    hg_proc proc{HG_ENCODE, handle->info.hg_class, &writer, nullptr};
    const hg_return_t encoded = handle->procs->out && out ? handle->procs->out(&proc, out) : HG_SUCCESS;
    if (encoded != HG_SUCCESS || !writer.ok()) return HG_OVERFLOW;
    handle->request->respond(writer.size());
    if (callback) {
        const hg_cb_info info{arg, HG_SUCCESS, HG_CB_RESPOND, handle};
        (void)callback(&info);
    }
    return HG_SUCCESS;
}

hg_return_t HG_Cancel(hg_handle_t handle) {
    if (!handle->call) return HG_INVALID_ARG;
    handle->call->cancel();
    return HG_SUCCESS;
}

hg_return_t HG_Progress(hg_context_t* context, unsigned timeout_ms) {
    return context->rpc->progress(std::chrono::milliseconds(timeout_ms)) != 0 ? HG_SUCCESS : HG_TIMEOUT;
}
hg_return_t HG_Trigger(hg_context_t* context, unsigned, unsigned count_max, unsigned* count) {
    const unsigned ran = context->rpc->trigger(count_max);
    if (count) *count = ran;
    return ran != 0 ? HG_SUCCESS : HG_TIMEOUT;
}

hg_return_t HG_Bulk_create(hg_class_t* hg_class, uint32_t count, void** buffers, const hg_size_t* sizes, uint8_t flags,
                           hg_bulk_t* handle) {
    std::vector<na::Segment> segments;
    for (uint32_t i = 0; i < count; ++i) {
        segments.push_back({static_cast<std::byte*>(buffers[i]), static_cast<std::size_t>(sizes[i])});
    }
    auto made = std::make_unique<hg_bulk>();
    // What a read-only handle lends may be read by peers; this process itself may fill it by its own pulls.
    auto region = bulk::Region::expose(segments, na::Access::read_write);
    if (!region) return to_hg(region.code());
    made->local = *std::move(region);
    made->bytes = made->local.bytes();
    made->lend = std::make_unique<bulk::Lend>();
    const Errc lent = made->lend->grant(made->local, static_cast<na::Access>(flags & 3), hg_class->transport);
    if (lent != Errc::ok) return to_hg(lent);
    *handle = made.release();
    return HG_SUCCESS;
}
hg_return_t HG_Bulk_free(hg_bulk_t handle) {
    if (handle->lend) (void)handle->lend->revoke();
    delete handle;
    return HG_SUCCESS;
}
hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t* context) {
    handle->owner = context->rpc->self_addr();
    return HG_SUCCESS;
}
hg_size_t HG_Bulk_get_size(hg_bulk_t handle) { return handle->bytes; }

hg_return_t HG_Bulk_transfer(hg_context_t* context, hg_cb_t callback, void* arg, hg_bulk_op_t op, hg_addr_t origin,
                             hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
                             hg_size_t local_offset, hg_size_t bytes) {
    struct Pending {
        hg_context_t* context;
        hg_cb_t callback;
        void* arg;
    };
    bulk::TransferArgs args;
    args.direction = op == HG_BULK_PULL ? bulk::Direction::pull : bulk::Direction::push;
    args.remote = origin_handle->remote.get();
    args.remote_offset = origin_offset;
    args.local = local_handle->local.slice(local_offset, bytes);
    args.bytes = bytes;
    args.peer = origin->addr;
    args.follow_owner = true;
    auto pending = std::make_unique<Pending>(Pending{context, callback, arg});
    Errc why = Errc::ok;
    const auto done = [](bulk::Transfer& transfer, void* user) noexcept {
        const std::unique_ptr<Pending> ended(static_cast<Pending*>(user));
        const hg_cb_info info{ended->arg, to_hg(transfer.result()), HG_CB_BULK, nullptr};
        ended->context->rpc->mover().release(transfer);
        (void)ended->callback(&info);
    };
    if (!context->rpc->mover().start(args, done, pending.get(), bulk::Deliver::queued, nullptr, why)) return to_hg(why);
    (void)pending.release();
    return HG_SUCCESS;
}

hg_proc_op_t hg_proc_get_op(hg_proc_t proc) { return proc->op; }

hg_return_t hg_proc_bytes(hg_proc_t proc, void* data, hg_size_t bytes) {
    if (proc->op == HG_ENCODE) proc->writer->copy_from(data, bytes);
    if (proc->op == HG_DECODE) proc->reader->copy_to(data, bytes);
    return (proc->op == HG_ENCODE ? proc->writer->ok() : proc->reader->ok()) ? HG_SUCCESS : HG_OVERFLOW;
}

hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void* data) {
    auto** handle = static_cast<hg_bulk_t*>(data);
    if (proc->op == HG_ENCODE) {
        na::Lease* const lease = &(*handle)->lend->lease();
        bulk::describe({{&lease, 1}, (*handle)->owner, {}}, *proc->writer);
        return proc->writer->ok() ? HG_SUCCESS : HG_OVERFLOW;
    }
    if (proc->op == HG_DECODE) {
        auto made = std::make_unique<hg_bulk>();
        made->remote = std::make_unique<bulk::RemoteRegion>();
        Errc decoded = bulk::RemoteRegion::decode(*proc->reader, *made->remote);
        if (decoded == Errc::ok) decoded = made->remote->own();
        if (decoded != Errc::ok) return to_hg(decoded);
        made->bytes = made->remote->bytes();
        *handle = made.release();
    }
    return HG_SUCCESS;
}
