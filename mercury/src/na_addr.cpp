// SPDX-License-Identifier: BSD-3-Clause
#include "errors.hpp"
#include "na_class.hpp"

using namespace cinnabar;
using mercury::failed;
using mercury::guarded;
using mercury::to_na;

namespace {

hg_return_t hand_out(na_class_t& owner, na::Addr made, na_addr_t** out) {
    *out = new na_addr{std::move(made)};
    ++owner.addrs;
    return HG_SUCCESS;
}

}  // namespace

na_return_t NA_Addr_lookup(na_class_t* na_class, const char* name, na_addr_t** addr) {
    if (!na_class || !name || !addr) return NA_INVALID_ARG;
    return to_na(guarded([&] {
        auto text = mercury::to_core(name);
        if (!text) return failed("NA_Addr_lookup", text.error());
        auto parsed = na::Addr::parse(*text);
        return parsed ? hand_out(*na_class, *std::move(parsed), addr) : failed("NA_Addr_lookup", parsed.error());
    }));
}

void NA_Addr_free(na_class_t* na_class, na_addr_t* addr) {
    if (!na_class || !addr) return;
    delete addr;
    --na_class->addrs;
}

na_return_t NA_Addr_set_remove(na_class_t* na_class, na_addr_t* addr) {
    return na_class && addr ? NA_SUCCESS : NA_INVALID_ARG;
}

na_return_t NA_Addr_self(na_class_t* na_class, na_addr_t** addr) {
    if (!na_class || !addr) return NA_INVALID_ARG;
    return to_na(guarded([&] { return hand_out(*na_class, mercury::self_of(*na_class->transport), addr); }));
}

na_return_t NA_Addr_dup(na_class_t* na_class, na_addr_t* addr, na_addr_t** copy) {
    if (!na_class || !addr || !copy) return NA_INVALID_ARG;
    return to_na(guarded([&] { return hand_out(*na_class, addr->addr, copy); }));
}

bool NA_Addr_cmp(na_class_t*, na_addr_t* one, na_addr_t* other) {
    return one == other || (one && other && mercury::same_peer(one->addr, other->addr));
}

bool NA_Addr_is_self(na_class_t* na_class, na_addr_t* addr) {
    if (!na_class || !addr || addr->addr.empty()) return false;
    const na::Transport& transport = *na_class->transport;
    const na::AddrBody& body = addr->addr.body();
    if (addr->addr.is_connection()) return body.own;
    if (body.incarnation != 0) return body.incarnation == transport.incarnation();
    return mercury::same_peer(addr->addr, mercury::self_of(transport).with_context(body.context));
}

na_return_t NA_Addr_to_string(na_class_t* na_class, char* text, size_t* bytes, na_addr_t* addr) {
    if (!na_class || !bytes || !addr) return NA_INVALID_ARG;
    return to_na(guarded([&] { return mercury::give_text(mercury::printed(*na_class, addr->addr), text, bytes); }));
}

size_t NA_Addr_get_serialize_size(na_class_t*, na_addr_t* addr) { return addr ? addr->addr.encoded_bytes() : 0; }

na_return_t NA_Addr_serialize(na_class_t*, void* bytes, size_t count, na_addr_t* addr) {
    if (!bytes || !addr) return NA_INVALID_ARG;
    ByteWriter writer(Bytes(static_cast<std::byte*>(bytes), count));
    addr->addr.encode(writer);
    return writer.ok() ? NA_SUCCESS : NA_OVERFLOW;
}

na_return_t NA_Addr_deserialize(na_class_t* na_class, na_addr_t** addr, const void* bytes, size_t count, uint64_t) {
    if (!na_class || !addr || !bytes) return NA_INVALID_ARG;
    return to_na(guarded([&] {
        ByteReader reader(ConstBytes(static_cast<const std::byte*>(bytes), count));
        auto decoded = na::Addr::decode(reader);
        if (decoded && decoded->empty()) return failed("NA_Addr_deserialize: an empty address", HG_PROTOCOL_ERROR);
        return decoded ? hand_out(*na_class, *std::move(decoded), addr)
                       : failed("NA_Addr_deserialize", decoded.error());
    }));
}
