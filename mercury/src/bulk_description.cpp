// SPDX-License-Identifier: BSD-3-Clause
// Serialized bulk handles (descriptions): docs/mercury.md, "A bulk handle's bytes".
#include "bulk.hpp"
#include "errors.hpp"
#include "handle.hpp"
#include "input.hpp"
#include "mercury_proc_bulk.h"

#include <cinnabar/base/bytes.hpp>

#include <cstring>

using namespace cinnabar;
using mercury::describe;
using mercury::description_bytes;
using mercury::failed;
using mercury::guarded;

namespace cinnabar::mercury {
namespace {

constexpr std::size_t head_bytes = 22;
// The most data that a description contains; it fits a message together with other arguments.
constexpr hg_size_t eager_bytes_max = 4096;

bool travels(const hg_bulk& bulk, unsigned long flags) {
    return (flags & describe_eager) != 0 && bulk.flags == HG_BULK_READ_ONLY && bulk.bytes <= eager_bytes_max &&
           !bulk.local.is_far();
}

// Calls `use` with the contents of the core's descriptor.
template <typename F>
hg_return_t with_description(hg_bulk& bulk, hg_bulk& original, unsigned long flags, F&& use) {
    bulk::Description description;
    description.owner = owner_of(bulk);
    const std::lock_guard lock(original.lend_mutex);
    std::byte data[eager_bytes_max];
    std::vector<na::Lease*> leases;
    if (travels(original, flags)) {
        const Bytes copy = Bytes(data).first(original.bytes);
        original.local.copy_out(0, copy);
        description.eager = copy;
        return use(description);
    }
    if (const hg_return_t lent = lend(original); lent != HG_SUCCESS) return lent;
    for (const auto& each : original.lends) leases.push_back(&each->lease());
    description.leases = leases;
    return use(description);
}

}  // namespace

hg_size_t description_bytes(hg_bulk& bulk, unsigned long flags) noexcept {
    if (bulk.is_remote) return bulk.encoded.size();
    const Original original(bulk);
    if (!original) return failed(original_is_gone, HG_INVALID_ARG), 0;
    if (bulk.bytes == 0) return head_bytes;
    hg_size_t bytes = 0;
    (void)guarded([&] {
        return with_description(bulk, *original, flags, [&](const bulk::Description& description) {
            bytes = head_bytes + bulk::described_bytes(description);
            return HG_SUCCESS;
        });
    });
    return bytes;
}

hg_return_t describe(hg_bulk& bulk, unsigned long flags, Bytes out) noexcept {
    if (bulk.is_remote) {
        if (out.size() < bulk.encoded.size()) return HG_OVERFLOW;
        std::memcpy(out.data(), bulk.encoded.data(), bulk.encoded.size());
        return HG_SUCCESS;
    }
    const Original original(bulk);
    if (!original) return failed(original_is_gone, HG_INVALID_ARG);
    ByteWriter writer(out);
    writer.u64(bulk.bytes);
    writer.u32(bulk.segment_count);
    writer.u8(bulk.flags);
    writer.u8(bulk.is_bound ? 1 : 0);
    if (const hg_return_t known = remember_description(*original); known != HG_SUCCESS) return known;
    writer.u64(original->secret);
    if (bulk.bytes == 0) return writer.ok() ? HG_SUCCESS : HG_OVERFLOW;
    return guarded([&] {
        return with_description(bulk, *original, flags, [&](const bulk::Description& description) {
            bulk::describe(description, writer);
            return writer.ok() ? HG_SUCCESS : HG_OVERFLOW;
        });
    });
}

namespace {

hg_return_t decode(hg_class& owner, ConstBytes bytes, hg_bulk_t* out) {
    auto made = std::make_unique<hg_bulk>();
    made->owner = made->bound.owner = &owner;
    made->is_remote = true;
    made->encoded.assign(bytes.begin(), bytes.end());
    ByteReader reader(made->encoded);
    made->bytes = reader.u64();
    made->segment_count = reader.u32();
    made->flags = reader.u8();
    made->is_bound = reader.u8() != 0;
    const std::uint64_t secret = reader.u64();
    if (!reader.ok() || made->flags == 0 || made->flags > HG_BULK_READWRITE) return HG_PROTOCOL_ERROR;
    if (made->bytes != 0) {
        const Errc decoded = bulk::RemoteRegion::decode(reader, made->remote);
        if (decoded != Errc::ok) return failed("decoding a bulk handle", decoded);
        const bool same = made->remote.bytes() == made->bytes &&
                          na::allows(made->remote.access(), static_cast<na::Access>(made->flags));
        if (!same)
            return failed("decoding a bulk handle: its sizes or flags contradict its descriptor", HG_PROTOCOL_ERROR);
        made->bound.addr = made->remote.owner();
    }
    made->encoded.resize(made->encoded.size() - reader.left());
    (void)recognise_own(owner, secret, *made);
    ++owner.bulks;
    *out = made.release();
    return HG_SUCCESS;
}

}  // namespace
}  // namespace cinnabar::mercury

hg_size_t HG_Bulk_get_serialize_size(hg_bulk_t handle, unsigned long flags) {
    return handle ? description_bytes(*handle, flags) : 0;
}

hg_return_t HG_Bulk_serialize(void* buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle) {
    if (!buf || !handle) return HG_INVALID_ARG;
    return describe(*handle, flags, Bytes(static_cast<std::byte*>(buf), buf_size));
}

hg_return_t HG_Bulk_deserialize(hg_class_t* hg_class, hg_bulk_t* handle, const void* buf, hg_size_t buf_size) {
    if (!hg_class || !handle || !buf) return HG_INVALID_ARG;
    return guarded(
        [&] { return mercury::decode(*hg_class, ConstBytes(static_cast<const std::byte*>(buf), buf_size), handle); });
}

namespace {

hg_return_t encode_handle(hg_proc_t proc, hg_bulk_t handle) {
    // Includes the data if it fits the rest of the message.
    const bool may_travel = (hg_proc_get_flags(proc) & HG_PROC_BULK_EAGER) != 0;
    unsigned long flags = may_travel ? mercury::describe_eager : 0;
    std::uint64_t bytes = handle ? description_bytes(*handle, flags) : 0;
    if (may_travel && bytes + sizeof bytes > hg_proc_get_size_left(proc)) {
        flags = 0;
        bytes = description_bytes(*handle, flags);
    }
    if (handle && bytes == 0) return HG_NOMEM;
    if (const hg_return_t ret = hg_proc_uint64_t(proc, &bytes); ret != HG_SUCCESS || !handle) return ret;
    auto* const out = static_cast<std::byte*>(hg_proc_save_ptr(proc, bytes));
    return out ? describe(*handle, flags, Bytes(out, bytes)) : HG_NOMEM;
}

// A process that does not listen cannot be dialled. If the descriptor arrived from the owner of the memory itself, the
// owner is reached over the connection on which the descriptor arrived.
void bind_to_sender(hg_bulk& bulk, const na::Addr& sender) {
    if (!bulk.is_remote || bulk.bound.addr.empty() || bulk.bound.addr.listens() || !sender.is_connection()) return;
    const na::AddrBody& named = bulk.bound.addr.body();
    const bool own = named.incarnation == sender.body().incarnation && named.context == sender.body().context;
    if (own) bulk.bound.addr = sender;
}

hg_return_t decode_handle(hg_proc_t proc, hg_bulk_t* handle) {
    std::uint64_t bytes = 0;
    *handle = HG_BULK_NULL;
    if (const hg_return_t ret = hg_proc_uint64_t(proc, &bytes); ret != HG_SUCCESS || bytes == 0) return ret;
    const void* const in = mercury::next_bytes(*proc, bytes);
    if (!in) return HG_OVERFLOW;
    const hg_return_t decoded = HG_Bulk_deserialize(hg_proc_get_class(proc), handle, in, bytes);
    if (decoded == HG_SUCCESS && proc->handle) bind_to_sender(**handle, proc->handle->peer.addr);
    return decoded;
}

}  // namespace

hg_return_t hg_proc_hg_bulk_t(hg_proc_t proc, void* data) {
    if (!proc || !data) return HG_INVALID_ARG;
    auto* const handle = static_cast<hg_bulk_t*>(data);
    switch (hg_proc_get_op(proc)) {
        case HG_ENCODE:
            return encode_handle(proc, *handle);
        case HG_DECODE:
            return decode_handle(proc, handle);
        case HG_FREE:
            break;
    }
    return HG_Bulk_free(std::exchange(*handle, HG_BULK_NULL));
}
