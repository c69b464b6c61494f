// SPDX-License-Identifier: BSD-3-Clause
// peer.memory.group: by how much the resident memory of a member grows for each further member that it knows. The
// further members do not exist: requests to join are made by hand, each with an address of its own, and no member is
// pinged while this lasts.
#include "../harness/child.hpp"
#include "../harness/process_status.hpp"
#include "figures.hpp"
#include "wire.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr double most_bytes = 256;
constexpr std::uint32_t known_before = 500;
constexpr Microseconds patience{10'000'000};

// Ranks from the one after `from` to `to`.
void add_members(const Node& client, const na::Addr& member, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from + 1; i <= to; ++i) {
        group::JoinRequest request;
        request.name = "group";
        request.process = i;
        const auto host = "10.0." + std::to_string(i / 256) + '.' + std::to_string(i % 256);
        request.address = na::Addr::parse("tcp://" + host + ":4000").value();
        const auto joined = client.call(group::join_rpc, member, request, patience).wait().value();
        if (joined.rank != i) throw std::runtime_error{"a member got an unexpected rank"};
    }
}

std::uint64_t resident_bytes() {
    (void)malloc_trim(0);
    return status_of(getpid()).resident_bytes;
}

// Bytes for each of `count` members.
double growth(std::uint32_t count) {
    Node node = Node::listen("tcp://127.0.0.1:0").value();
    group::GroupOptions options;
    options.swim.period = std::chrono::hours(1);
    const auto member = group::Group::create(node, options).value();
    const Node client = Node::open("tcp://").value();
    const auto address = client.lookup(node.address()).value();
    add_members(client, address, 0, known_before);
    (void)member.view();  // which is kept until it changes
    const auto before = resident_bytes();
    add_members(client, address, known_before, known_before + count);
    const auto known = member.view().present().size();
    if (known != known_before + count + 1) throw std::runtime_error{"the view has only " + std::to_string(known)};
    const auto after = resident_bytes();
    return after < before ? 0 : static_cast<double>(after - before) / count;
}

std::vector<Row> run_group_memory(const Settings& settings) {
    const std::uint32_t count = settings.quick ? 2000 : 10'000;
    void* const page = ::mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error{"mmap"};
    // In a process of its own, whose memory nobody else has used before.
    run_forked([&] { new (page) double(growth(count)); });
    const double each = *static_cast<const double*>(page);
    (void)::munmap(page, sizeof(double));
    auto row = count_row("peer.memory.group", each, "bytes per member", most_bytes);
    row.remark = std::to_string(count) + " members";
    return {row};
}

}  // namespace

std::vector<Figure> group_memory_figures() { return {{"peer.memory.group", run_group_memory}}; }

}  // namespace cinnabar::bench
