// SPDX-License-Identifier: BSD-3-Clause
// Calls and answers of the save service: the first byte selects one, the rest is the payload. An accepted one encodes
// to the same bytes again. A call that one side signs is accepted by the other side exactly once. The checks before the
// seal are right about packs, batches, names and attributes.
#include "session/batch.hpp"
#include "session/client_session.hpp"
#include "session/pack.hpp"
#include "session/protocol.hpp"
#include "session/read_pack.hpp"
#include "session/signed_calls.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/utf8.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::files;

namespace {

// Only real calls lend memory, so it is not encoded here.
template <class T>
bool lends(const T& value) {
    if constexpr (requires { value.window; }) return !value.window.empty();
    if constexpr (requires { value.buffer; }) return !value.buffer.empty();
    return false;
}

template <class T>
std::vector<std::byte> encoded(const T& value) {
    std::vector<std::byte> bytes(rpc::proc_size(value));
    std::size_t used = 0;
    CINNABAR_ASSERT(rpc::encode(bytes, value, used) == Errc::ok && used == bytes.size());
    return bytes;
}

template <class T>
T decoded(const std::vector<std::byte>& bytes) {
    T value{};
    CINNABAR_ASSERT(rpc::decode(bytes, value) == Errc::ok);
    return value;
}

void try_text(const std::string& text) {
    const std::string shown = printable(text);
    for (std::string_view rest = shown; !rest.empty();) {
        const auto bytes = utf8_sequence_bytes(rest);
        CINNABAR_ASSERT(bytes > 0 && static_cast<unsigned char>(rest[0]) >= 0x20 && rest[0] != 0x7f);
        rest.remove_prefix(bytes);
    }
}

void try_name(const std::string& name) {
    try_text(name);
    if (!check_name(name)) return;
    CINNABAR_ASSERT(!name.empty() && name.size() <= name_bytes_max && name.front() != '/' && name.back() != '/');
    CINNABAR_ASSERT(name.find('\0') == name.npos && name.find("//") == name.npos);
    const auto within = "/" + name + "/";
    CINNABAR_ASSERT(within.find("/../") == name.npos && within.find("/./") == name.npos);
}

void try_attributes(const Attributes& attributes) {
    if (!can_be(attributes, {true, true})) return;
    CINNABAR_ASSERT(attributes.modified_ns < 1'000'000'000);
    std::size_t bytes = 0;
    for (const auto& extended : attributes.extended) {
        bytes += extended.name.size() + extended.value.size();
        CINNABAR_ASSERT(extended.name.starts_with("user.") || extended.name.starts_with("system.posix_acl_"));
    }
    CINNABAR_ASSERT(bytes <= extended_bytes_max);
}

void try_pack(const PackIn& pack) {
    if (!check_pack(pack)) return;
    CINNABAR_ASSERT(!pack.files.empty() && pack.files.size() <= pack_files_max && pack.sync <= Sync::none);
    std::uint64_t bytes = 0;
    std::size_t text = 0;
    for (const auto& file : pack.files) {
        CINNABAR_ASSERT(file.bytes <= packed_file_bytes_max);
        bytes += file.bytes;
        text += file.name.size();
    }
    CINNABAR_ASSERT(bytes == pack.window.size() && text <= pack_text_bytes_max);
}
void try_pack(const ReadPackIn& pack) {
    if (!check_pack(pack)) return;
    CINNABAR_ASSERT(!pack.files.empty() && pack.files.size() <= pack_files_max);
    std::uint64_t bytes = 0;
    std::size_t text = 0;
    for (const auto& file : pack.files) {
        CINNABAR_ASSERT(file.bytes <= packed_file_bytes_max && file.name.size() <= name_bytes_max);
        bytes += file.bytes;
        text += file.name.size();
    }
    CINNABAR_ASSERT(bytes == pack.window.size() && text <= pack_text_bytes_max);
}

void try_pack(const LendPackIn& pack) {
    if (!check_pack(pack)) return;
    CINNABAR_ASSERT(!pack.files.empty() && pack.files.size() <= pack_files_max);
    std::size_t text = 0;
    for (const auto& file : pack.files) {
        CINNABAR_ASSERT(file.bytes <= packed_file_bytes_max && file.name.size() <= name_bytes_max);
        text += file.name.size();
    }
    CINNABAR_ASSERT(text <= pack_text_bytes_max && pack.text_bytes <= pack_text_bytes_max);
}
void try_pack(const TakePackIn& pack) {
    if (!check_pack(pack)) return;
    CINNABAR_ASSERT(!pack.files.empty() && pack.files.size() <= pack_files_max);
    for (const auto& file : pack.files) {
        try_attributes(file.attributes);
        CINNABAR_ASSERT(file.outcome.code == Errc::ok || from_outcome(file.outcome).code != Errc::ok);
    }
}

void try_batch(const MakeManyIn& batch) {
    if (!check_batch(batch)) return;
    CINNABAR_ASSERT(!batch.entries.empty() && batch.entries.size() <= batch_entries_max);
    std::set<std::string> names;
    std::size_t text = 0;
    for (const auto& entry : batch.entries) {
        CINNABAR_ASSERT(entry.kind <= MakeKind::hard_link && names.insert(entry.name).second);
        CINNABAR_ASSERT(entry.name.size() <= name_bytes_max && entry.target.size() <= name_bytes_max);
        text += entry.name.size() + entry.target.size();
        try_name(entry.name);
    }
    CINNABAR_ASSERT(text <= batch_text_bytes_max);
}
void try_batch(const RemoveManyIn& batch) {
    if (!check_batch(batch)) return;
    CINNABAR_ASSERT(!batch.names.empty() && batch.names.size() <= batch_entries_max);
    std::set<std::string> names;
    std::size_t text = 0;
    for (const auto& name : batch.names) {
        CINNABAR_ASSERT(name.size() <= name_bytes_max && names.insert(name).second);
        text += name.size();
        try_name(name);
    }
    CINNABAR_ASSERT(text <= batch_text_bytes_max);
}

template <class T>
void try_parts(const T& value) {
    if constexpr (requires { value.name; }) try_name(value.name);
    if constexpr (requires { value.target; }) try_text(value.target);
    if constexpr (requires { value.attributes; }) try_attributes(value.attributes);
    if constexpr (requires { try_pack(value); }) try_pack(value);
    if constexpr (requires { try_batch(value); }) try_batch(value);
}

template <class T>
void try_answer(ConstBytes in) {
    T value{};
    if (rpc::decode(in, value) != Errc::ok) return;
    try_parts(value);
    if (lends(value)) return;
    const auto first = encoded(value);
    CINNABAR_ASSERT(encoded(decoded<T>(first)) == first);
}

Seals seals() {
    std::array<std::uint8_t, 32> bytes{};
    bytes.fill(7);
    return {Token{1, 2}, Secret(bytes)};
}

template <class T>
void try_call(ConstBytes in) {
    T call{};
    if (rpc::decode(in, call) != Errc::ok) return;
    try_parts(call);
    Seals here = seals();
    Seals there = seals();
    CINNABAR_ASSERT(!there.check(call));  // not signed
    here.stamp(call);
    CINNABAR_ASSERT(there.check(call));
    CINNABAR_ASSERT(!there.check(call));  // a replay
    if (lends(call)) return;
    const auto first = encoded(call);
    const auto again = decoded<T>(first);
    CINNABAR_ASSERT(encoded(again) == first);
    Seals elsewhere = seals();
    CINNABAR_ASSERT(elsewhere.check(again));
}

using Try = void (*)(ConstBytes);
constexpr std::array tries{Try{&try_answer<HelloIn>},  Try{&try_answer<HelloOut>},   Try{&try_answer<LoginIn>},
                           Try{&try_answer<LoginOut>}, Try{&try_call<HoldIn>},       Try{&try_call<OpenIn>},
                           Try{&try_answer<OpenOut>},  Try{&try_call<WindowIn>},     Try{&try_answer<WindowOut>},
                           Try{&try_call<PushIn>},     Try{&try_call<FillIn>},       Try{&try_call<CommitIn>},
                           Try{&try_call<PackIn>},     Try{&try_answer<PackOut>},    Try{&try_call<AskIn>},
                           Try{&try_answer<AskOut>},   Try{&try_call<ReadIn>},       Try{&try_answer<ReadOut>},
                           Try{&try_call<FinishIn>},   Try{&try_answer<FinishOut>},  Try{&try_call<SumIn>},
                           Try{&try_answer<SumOut>},   Try{&try_call<LookIn>},       Try{&try_answer<LookOut>},
                           Try{&try_call<RemoveIn>},   Try{&try_call<MakeIn>},       Try{&try_call<ListIn>},
                           Try{&try_answer<Listing>},  Try{&try_call<RemainsIn>},    Try{&try_answer<RemainsOut>},
                           Try{&try_call<AbortIn>},    Try{&try_call<LendIn>},       Try{&try_answer<LendOut>},
                           Try{&try_call<TakeIn>},     Try{&try_call<ReadPackIn>},   Try{&try_answer<ReadPackOut>},
                           Try{&try_call<LendPackIn>}, Try{&try_call<TakePackIn>},   Try{&try_call<PulledIn>},
                           Try{&try_call<MakeManyIn>}, Try{&try_call<RemoveManyIn>}, Try{&try_answer<BatchOut>},
                           Try{&try_call<ClaimIn>},    Try{&try_answer<ClaimOut>},   Try{&try_answer<CommitOut>},
                           Try{&try_call<JoinIn>},     Try{&try_answer<JoinOut>}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    // A copy, so that the payload begins at an aligned address as in a message.
    const auto payload = std::make_unique<std::byte[]>(size - 1);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes + 1), size - 1, payload.get());
    tries[bytes[0] % tries.size()](ConstBytes(payload.get(), size - 1));
    return 0;
}
