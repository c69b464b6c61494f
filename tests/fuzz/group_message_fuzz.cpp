// SPDX-License-Identifier: BSD-3-Clause
// Messages between members of a group: the first byte selects the kind, the rest is the payload. An accepted message
// encodes to the same bytes again. A member that receives it keeps its rank and incarnation, or reports that it is
// displaced; it stores no more members than its options allow, and sends no more messages than it may.
#include "swim/swim.hpp"
#include "tree.hpp"
#include "variable_wire.hpp"
#include "wire.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <optional>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::group;

namespace {

constexpr std::uint32_t members_max = 300;

template <class T>
std::optional<T> taken(ConstBytes bytes) {
    T value{};
    if (rpc::decode(bytes, value) != Errc::ok) return {};
    std::vector<std::byte> again(rpc::proc_size(value));
    std::size_t used = 0;
    CINNABAR_ASSERT(rpc::encode(Bytes(again), value, used) == Errc::ok && used == again.size());
    T same{};
    CINNABAR_ASSERT(rpc::decode(ConstBytes(again), same) == Errc::ok);
    return value;
}

Swim some_member(Microseconds reuse_ranks_after) {
    const Profile profile(na::Addr::parse("tcp://127.0.0.1:1").value(), {});
    Table known;
    for (Rank rank = 0; rank < 5; ++rank) known.put(rank, {1, 0, State::alive, rank + 1, profile});
    const SwimOptions options{.members_max = members_max, .reuse_ranks_after = reuse_ranks_after};
    return {options, {1, 0, 1, 1, profile}, known, 7, 1'000'000};
}

void check(const Swim& swim, const Swim::Outbox& out) {
    CINNABAR_ASSERT(swim.table().end() <= members_max && swim.health() <= swim.options().health_max);
    CINNABAR_ASSERT(is_life(swim.self().incarnation));
    const Entry& self = swim.table().at(0);
    CINNABAR_ASSERT(swim.displaced() || (self.present() && self.incarnation == swim.self().incarnation));
    for (const Message& message : out) CINNABAR_ASSERT(well_formed(message) && message.to != swim.self().rank);
}

void tell(const Message& message, Microseconds reuse_ranks_after) {
    if (!well_formed(message)) return;
    Swim swim = some_member(reuse_ranks_after);
    Swim::Outbox out;
    TimeUs now = 1'000'000;
    for (int round = 0; round < 3; ++round) {
        swim.receive(message, now, out);
        CINNABAR_ASSERT(out.size() <= 2);
        check(swim, out);
        out.clear();
        now += 700'000;
        swim.tick(now, out);
        check(swim, out);
        out.clear();
    }
    std::uint64_t steps = 0;
    for (Rank rank = 0; rank < swim.table().end(); ++rank) {
        const Entry& entry = swim.table().at(rank);
        if (entry.known()) steps += 2 * std::uint64_t{entry.incarnation} - (entry.present() ? 1 : 0);
    }
    const Rank given = swim.free_rank(0, now);
    CINNABAR_ASSERT(given == no_rank || !swim.table().at(given).present());
    CINNABAR_ASSERT(steps == swim.table().stamp().version);
}

void try_request(ConstBytes bytes) {
    const auto request = taken<TreeRequest>(bytes);
    if (!request) return;
    const auto below = ranks_of(request->below, members_max);
    if (!below) return;
    CINNABAR_ASSERT(below->size() <= members_max);
    std::size_t reached = 0;
    const Shape shape = shape_for(static_cast<Tree>(static_cast<unsigned>(request->tree) % 4), request->fanout, 100, 1);
    for (const Branch& branch : branches_of(*below, shape)) reached += 1 + branch.below.size();
    CINNABAR_ASSERT(reached == below->size());
    if (!is_ascending(request->holders)) return;
    for (const HolderRun& run : request->holders)
        CINNABAR_ASSERT(run.count == 0 || holder_in(request->holders, run.first) == run.holder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    const ConstBytes in = std::as_bytes(std::span(bytes, size)).subspan(1);
    switch (bytes[0] % 10) {
        case 0:
            if (const auto message = taken<Message>(in)) {
                tell(*message, {});
                tell(*message, Microseconds(40'000'000));
            }
            break;
        case 1:
            try_request(in);
            break;
        case 2:
            (void)taken<TreeAnswer>(in);
            break;
        case 3:
            (void)taken<ViewPage>(in);
            break;
        case 4:
            (void)taken<JoinRequest>(in);
            break;
        case 5:
            (void)taken<FollowRequest>(in);
            break;
        case 6:
            (void)taken<Fetch>(in);
            break;
        case 7:
            (void)taken<Update>(in);
            break;
        case 8:
            (void)taken<Tell>(in);
            break;
        default:
            (void)taken<Recall>(in);
    }
    return 0;
}
