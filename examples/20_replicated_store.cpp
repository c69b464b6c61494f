// SPDX-License-Identifier: BSD-3-Clause
// A replicated key-value store on a group: each key has an owner and two followers. A write is answered when all living
// holders of the key have it. If the owner dies, its first follower becomes the owner, and the store makes a third copy
// again.
//
// There is no consensus. If the network is cut, both parts accept writes; when they merge, the later write of a key
// wins, and the other is lost without a message. A read may return a write that has not been answered yet, and is lost
// if the owner dies. A write that failed may have happened. An owner that has just joined, or come back, has old values
// or none until the other holders have sent theirs to that owner. If all holders of a key die, the key is lost. If
// clocks of hosts differ by more than ClockOptions::drift_max, an older write may win.
#include <cinnabar/base/random.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace cinnabar;
using namespace cinnabar::group;

struct Entry {
    std::string key, value;
    Version version;  // of two writes of a key, the one with the larger version wins
};
using Entries = std::map<std::string, Entry>;

inline constexpr Rpc<void(Entry)> put{"put"};  // the owner sets the version
inline constexpr Rpc<Entry(std::string)> get{"get"};
inline constexpr Rpc<void(std::vector<Entry>)> keep{"keep"};  // from the owner to all holders

// The owner of a key, and its followers: the members for which the hash of key and rank is largest. All members compute
// the same list. If a member dies, only the keys that it held get a new holder.
std::vector<Rank> holders_of(const std::string& key, const View& view) {
    const auto weight = [&key](Rank rank) { return Random(rpc::rpc_id(key) + rank).next(); };
    std::vector<Rank> ranks(view.present().begin(), view.present().end());
    std::ranges::sort(ranks, std::greater(), weight);
    if (ranks.size() > 3) ranks.resize(3);
    return ranks;
}

// Gives entries to all members that hold them by the present view. If a member does not take its entries, tries again
// after the next event: a dead member will be excluded, and is then no longer asked.
Task<Result<void>> replicate(Group group, std::vector<Entry> entries) {
    Events events = group.events();
    for (;;) {
        std::map<Rank, std::vector<Entry>> parts;
        for (const Entry& entry : entries)
            for (const Rank rank : holders_of(entry.key, group.view())) parts[rank].push_back(entry);
        CINNABAR_CO_TRY(const Reached given, co_await group.scatter(keep, parts));
        if (given.all()) co_return Result<void>();
        CINNABAR_CO_TRY([[maybe_unused]] const Event event, co_await events.next());
    }
}

// When members come or go, gives all entries to those that hold them now.
Task<void> repair(Group group, const Entries& entries) {
    Events events = group.events();
    while (co_await events.next()) {  // until this member ends
        std::vector<Entry> all;
        for (const auto& [key, entry] : entries) all.push_back(entry);
        (void)co_await replicate(group, std::move(all));
    }
}

struct Replica {
    Entries entries;  // only the node's loop uses them
    Node node;
    Group group;
};

void serve(Replica& replica) {
    const auto puts = [&group = replica.group](Entry entry) {
        entry.version = {group.clock().now().bits(), group.rank()};  // later than all that this member has heard of
        return replicate(group, {std::move(entry)});
    };
    const auto keeps = [&entries = replica.entries](const std::vector<Entry>& given) {
        for (const Entry& entry : given)
            if (entries[entry.key].version < entry.version) entries[entry.key] = entry;
    };
    const auto gets = [&entries = replica.entries](const std::string& key) -> Result<Entry> {
        if (const auto at = entries.find(key); at != entries.end()) return at->second;
        return Errc::not_found;
    };
    replica.group.serve(put, puts).value();
    replica.group.serve(keep, keeps).value();
    replica.group.serve(get, gets).value();
    (void)replica.node.spawn(repair(replica.group, replica.entries));
}

std::unique_ptr<Replica> start(unsigned number) {
    Node node = Node::listen("sim://host" + std::to_string(number) + "?world=20").value();
    const GroupOptions options{.seed = 20 + number};
    Group group = number == 0 ? Group::create(node, options).value()
                              : sync_wait(Group::join(node, {"sim://host0"}, options)).value();
    auto replica = std::make_unique<Replica>(Replica{{}, std::move(node), std::move(group)});
    serve(*replica);
    return replica;
}

// Calls the owner. If that is lost, waits until the view has changed, and calls the next owner.
template <typename Out, typename In>
Task<Result<Out>> ask_owner(Group client, const Rpc<Out(In)>& rpc, std::string key, In in) {
    Events events = client.events();
    for (;;) {
        const std::vector<Rank> holders = holders_of(key, client.view());
        if (holders.empty()) co_return Errc::unreachable;
        Result<Out> answer = co_await client.call(rpc, holders.front(), in, {.deadline = 60s});
        const Errc code = answer.code();
        if (code != Errc::peer_lost && code != Errc::refused && code != Errc::unreachable) co_return answer;
        CINNABAR_CO_TRY([[maybe_unused]] const Event event, co_await events.next());
    }
}
void write(const Group& client, const Entry& entry) { sync_wait(ask_owner(client, put, entry.key, entry)).value(); }
Entry read(const Group& client, const std::string& key) { return sync_wait(ask_owner(client, get, key, key)).value(); }

std::size_t copies(const std::vector<std::unique_ptr<Replica>>& replicas) {
    std::size_t sum = 0;
    for (const auto& replica : replicas) sum += replica ? replica->entries.size() : 0;
    return sum;
}

int main() {
    auto world = sim::World::numbered(20, {.seed = 20});
    std::vector<std::unique_ptr<Replica>> replicas;
    for (unsigned i = 0; i < 5; ++i) replicas.push_back(start(i));
    for (const auto& replica : replicas) sync_wait(replica->group.wait_for_members(5)).value();
    Node node = Node::open("sim://client?world=20").value();
    const Group client = sync_wait(Group::follow(node, {"sim://host0", "sim://host1"}, {.seed = 100})).value();
    for (int i = 0; i < 20; ++i) write(client, {"key" + std::to_string(i), "first", {}});
    std::cout << "20 values, " << copies(replicas) << " copies\n";
    const Entry first = read(client, "key0");
    const Rank owner = holders_of("key0", client.view()).front();
    world->kill("host" + std::to_string(owner));  // its process dies
    replicas[owner].reset();
    int found = 0;
    for (int i = 0; i < 20; ++i) found += read(client, "key" + std::to_string(i)).value == "first" ? 1 : 0;
    std::cout << found << " values found without the owner of key0\n";
    while (copies(replicas) < 60) (void)node.run_for(1s);
    std::cout << copies(replicas) << " copies again\n";
    write(client, {"key0", "second", {}});
    const std::vector<Rank> holders = holders_of("key0", client.view());
    sync_wait(client.broadcast(keep, {first}, {.only = holders})).value();  // the older write arrives once more
    std::cout << "key0 is " << read(client, "key0").value << '\n';
}
