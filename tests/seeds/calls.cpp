// SPDX-License-Identifier: BSD-3-Clause
#include "calls.hpp"

#include "mesh.hpp"

#include <gtest/gtest.h>

namespace cinnabar::seeds {

void Ask::encode(ByteWriter& writer) const noexcept {
    writer.u64(id);
    writer.u64(dice);
    writer.u32(reply_bytes);
    writer.u32(pattern_bytes);
    writer.u8(depth);
    writer.u8(lent);
}

Ask Ask::decode(ByteReader& reader) noexcept {
    Ask ask;
    ask.id = reader.u64();
    ask.dice = reader.u64();
    ask.reply_bytes = reader.u32();
    ask.pattern_bytes = reader.u32();
    ask.depth = reader.u8();
    ask.lent = reader.u8();
    return ask;
}

std::uint32_t Calls::any_bytes() {
    Random& random = mesh_.random();
    const std::uint64_t kind = random.below(40);
    if (kind < 28) return static_cast<std::uint32_t>(random.below(200));
    if (kind < 36) return static_cast<std::uint32_t>(random.below(20'000));
    return static_cast<std::uint32_t>(random.below(150'000));
}

TimeUs Calls::any_deadline() {
    Random& random = mesh_.random();
    const std::uint64_t kind = random.below(20);
    if (kind < 1) return mesh_.now_us();
    if (kind < 4) return mesh_.now_us() + random.below(300);
    if (kind < 12) return mesh_.now_us() + random.below(20'000);
    if (kind < 19) return mesh_.now_us() + random.below(3'000'000);
    return time_never;
}

// Returns space for the arguments, in the message or in a separate buffer; empty if that buffer could not be
// allocated.
Bytes Calls::room_for(rpc::Call& call, std::size_t bytes) {
    Bytes room = call.input_room();
    const bool large = bytes > room.size() || mesh_.random().chance(16);
    if (large && bytes > 0 && call.grow_input(bytes, room) != Errc::ok) {
        EXPECT_TRUE(mesh_.climate().tight);
        return {};
    }
    return room;
}

std::unique_ptr<Lent> Calls::make_lent(std::uint64_t seed) {
    Random& random = mesh_.random();
    static constexpr na::Access all[] = {na::Access::read, na::Access::write, na::Access::read_write};
    const na::Access access = all[random.below(3)];
    return std::make_unique<Lent>(random, 1 + any_bytes(), 5, access, seed);
}

bool Calls::lend(Sent& sent, rpc::Call& call, ByteWriter& writer) {
    for (unsigned i = 0; i < sent.lent.size(); ++i) {
        const Lent& memory = *sent.lent[i];
        writer.u64(memory.seed());
        writer.u8(static_cast<std::uint8_t>(memory.access()));
        const Errc lent = call.lend(memory.region(), memory.access(), writer);
        if (lent == Errc::ok) continue;
        EXPECT_TRUE(mesh_.climate().tight) << to_string(lent);
        return false;
    }
    return true;
}

Sent* Calls::give_up(Sent& sent) {
    std::exchange(sent.call, nullptr)->release();
    for (auto& memory : sent.lent) mesh_.ledger().bury(std::move(memory));
    sent.lent.clear();
    return nullptr;
}

Sent* Calls::send(Process& from, Wish wish) {
    Random& random = mesh_.random();
    Errc why = Errc::ok;
    rpc::Call* call = from.context().make_call(wish.to, why);
    if (!call) {
        EXPECT_TRUE((why == Errc::overloaded && mesh_.climate().tight) || (why == Errc::closed && from.draining) ||
                    (why == Errc::closed && from.closing))
            << to_string(why);
        return nullptr;
    }
    Sent& sent = mesh_.ledger().add(from, wish.kind, *call);
    sent.deadline = wish.deadline;
    sent.reply_bytes = wish.kind == Kind::note ? 0 : wish.reply_bytes;
    sent.then = std::move(wish.then);
    call->args.rpc = rpc::rpc_id(name_of(wish.kind));
    call->args.deadline = wish.deadline;
    call->args.one_way = wish.kind == Kind::note;

    Ask ask{sent.id, random.next(), sent.reply_bytes, wish.argument_bytes, wish.depth, 0};
    std::size_t bytes = Ask::wire_bytes + ask.pattern_bytes;
    if (wish.kind == Kind::move) {
        ask.lent = static_cast<std::uint8_t>(1 + random.below(3));
        for (unsigned i = 0; i < ask.lent; ++i) {
            sent.lent.push_back(make_lent(sent.id * 16 + i));
            bytes += 9 + call->lend_bytes(sent.lent.back()->region(), sent.lent.back()->access());
        }
    }
    const Bytes room = room_for(*call, bytes);
    if (room.empty()) return give_up(sent);
    ByteWriter writer(room);
    ask.encode(writer);
    if (!lend(sent, *call, writer)) return give_up(sent);
    EXPECT_EQ(writer.size() + ask.pattern_bytes, bytes);
    fill_pattern(room.subspan(writer.size(), ask.pattern_bytes), sent.id, 0);
    if (random.chance(50)) return give_up(sent);  // the call is given up before it is forwarded
    const Errc taken = call->forward(bytes, &Ledger::on_done, &sent);
    if (taken != Errc::ok) {
        EXPECT_TRUE(taken == Errc::closed && (from.draining || from.closing)) << to_string(taken);
        return give_up(sent);
    }
    mesh_.ledger().sent(sent);
    return &sent;
}

}  // namespace cinnabar::seeds
