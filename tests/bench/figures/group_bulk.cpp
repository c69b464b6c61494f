// SPDX-License-Identifier: BSD-3-Clause
// group.broadcast.bulk: 256 MiB to 15 other processes, over shm and tcp, compared with the time in which the machine
// writes as much 15 times, and with a tree whose members store all of it before they pass it on.
#include "../ours/group_bulk.hpp"

#include "../harness/child.hpp"
#include "../harness/pairs.hpp"
#include "../harness/room.hpp"
#include "../harness/scratch.hpp"
#include "../limits/copies.hpp"
#include "figures.hpp"

#include <sys/mman.h>

#include <array>
#include <new>
#include <span>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::size_t receivers = 15;
constexpr std::size_t rounds_max = 32;

// The seconds of one round.
struct Round {
    double copies = 0;
    double flow = 0;
    double forward = 0;
    double copies_again = 0;
};
struct Rounds {
    std::size_t count = 0;
    std::array<Round, rounds_max> each{};
};

void run_rounds(const Settings& settings, const std::string& listen, std::size_t bytes, Rounds& rounds) {
    const Scratch scratch{mebibyte};
    BulkGroup group{settings.cores, listen, scratch.path().string(), receivers, bytes};
    MemoryCopies copies{settings.cores, bytes};
    group.check();
    (void)group.store_and_forward();
    const std::size_t least = settings.quick ? 2 : 5;
    const double end = seconds_now() + (settings.quick ? 2 : settings.effort.seconds_max);
    for (std::size_t i = 0; i < rounds_max && (i < least || seconds_now() < end); ++i) {
        auto& round = rounds.each[i];
        round.copies = copies.run(receivers);
        round.flow = group.flow();
        round.forward = group.store_and_forward();
        round.copies_again = copies.run(receivers);
        rounds.count = i + 1;
    }
    group.check();
}

// Pages that a child process fills.
class SharedRounds {
  public:
    SharedRounds() {
        void* const page = mmap(nullptr, sizeof(Rounds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw std::runtime_error{"mmap"};
        rounds_ = new (page) Rounds;
    }
    ~SharedRounds() { munmap(rounds_, sizeof(Rounds)); }
    SharedRounds(const SharedRounds&) = delete;
    SharedRounds& operator=(const SharedRounds&) = delete;

    [[nodiscard]] Rounds& operator*() noexcept { return *rounds_; }

  private:
    Rounds* rounds_;
};

std::vector<Row> run_over(const Settings& settings, const std::string& name, const std::string& listen) {
    const auto wanted = (settings.quick ? 16 : 256) * mebibyte;
    // Each receiver makes what it compares its memory with; this process has four more.
    const auto bytes = size_that_fits(wanted, 8 * mebibyte, 2 * receivers + 4, memory_to_use());
    // In a process of its own, because the members are made before there is a second thread.
    SharedRounds shared;
    run_forked([&] { run_rounds(settings, listen, bytes, *shared); });
    const Rounds& rounds = *shared;

    Pairs beside_copies;
    Pairs beside_forward;
    for (const auto& round : std::span{rounds.each}.first(rounds.count)) {
        beside_copies.add(round.flow * 1000, round.copies * 1000, round.copies_again * 1000);
        beside_forward.add(round.flow * 1000, round.forward * 1000);
    }
    std::vector<Row> rows{
        beside_copies.row(name, "ms", Bar{Sense::at_most, 1.3}, "memcpy 15 times, two threads"),
        beside_forward.row(name + ".forward", "ms", Bar{Sense::at_most, 1.0 / 3}, "store and forward")};
    for (auto& row : rows) row.remark += ", " + size_remark(bytes, wanted);
    return rows;
}

}  // namespace

std::vector<Figure> group_bulk_figures() {
    const auto over = [](const std::string& name, const std::string& listen) {
        return Figure{name, [name, listen](const Settings& settings) { return run_over(settings, name, listen); }};
    };
    return {over("group.broadcast.bulk.shm", "shm://"), over("group.broadcast.bulk.tcp", "tcp://127.0.0.1:0")};
}

}  // namespace cinnabar::bench
