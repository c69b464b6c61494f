// SPDX-License-Identifier: BSD-3-Clause
// A process of an MPI program. Its argument says what it does; it exits with 0 if all is as expected.
#include "job.hpp"

#include <cinnabar/group/mpi.hpp>

#include <string_view>
#include <thread>

using namespace cinnabar;
using namespace cinnabar::test;

namespace {

bool allgather_fails = false;

}  // namespace

// In place of that of the MPI library, which calls it PMPI_Allgather.
extern "C" int MPI_Allgather(const void* give, int give_count, MPI_Datatype give_type, void* take, int take_count,
                             MPI_Datatype take_type, MPI_Comm comm) {
    if (allgather_fails) return MPI_ERR_OTHER;
    return PMPI_Allgather(give, give_count, give_type, take, take_count, take_type, comm);
}

namespace {

struct World {
    explicit World(int level) {
        int provided = MPI_THREAD_SINGLE;
        expect(MPI_Init_thread(nullptr, nullptr, level, &provided) == MPI_SUCCESS, "MPI_Init_thread");
        expect(provided >= level, "the thread level");
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    ~World() { MPI_Finalize(); }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    int rank = 0;
    int size = 0;
};

void communicators() {
    const World world(MPI_THREAD_FUNNELED);
    const Node node = listening();
    const auto all = group::bootstrap_by_mpi(node, MPI_COMM_WORLD);
    expect_member(all, static_cast<group::Rank>(world.rank), static_cast<std::size_t>(world.size));
    expect_member(group::bootstrap_by_mpi(node, MPI_COMM_SELF, options_for("self", 1)), 0, 1);

    MPI_Comm half = MPI_COMM_NULL;  // in the opposite order
    expect(MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, -world.rank, &half) == MPI_SUCCESS, "MPI_Comm_split");
    const auto rank = static_cast<group::Rank>((world.size - 1 - world.rank) / 2);
    expect_member(group::bootstrap_by_mpi(node, half, options_for("half", 2)), rank,
                  static_cast<std::size_t>(world.size / 2));

    MPI_Comm between = MPI_COMM_NULL;
    expect(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, world.size - 2 + (world.rank + 1) % 2, 7, &between) ==
               MPI_SUCCESS,
           "MPI_Intercomm_create");
    expect_code(group::exchange_by_mpi(node, between), Errc::invalid_argument, "an inter-communicator");
    expect_code(group::exchange_by_mpi(node, MPI_COMM_NULL), Errc::invalid_argument, "no communicator");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    pass(*all, "end");
}

// All processes get the same error, and may go on.
void disagreements() {
    const World world(MPI_THREAD_FUNNELED);
    const Node node = listening();
    const std::string name = world.rank == 1 ? "other" : "same";
    const auto differ = group::exchange_by_mpi(node, MPI_COMM_WORLD, options_for(name));
    expect_code(differ, Errc::invalid_argument, "names that differ");
    expect(differ.error().subject == "rank 1", "who has another name: " + differ.error().subject);
    const Node mute = Node::open("tcp://").value();
    const auto none = group::bootstrap_by_mpi(world.rank == 2 ? mute : node, MPI_COMM_WORLD);
    expect_code(none, Errc::invalid_argument, "a node that does not listen");
    expect(none.error().subject == "rank 2", "who does not listen: " + none.error().subject);
    expect_member(group::bootstrap_by_mpi(node, MPI_COMM_WORLD), static_cast<group::Rank>(world.rank), 4);
}

void mpi_fails() {
    const World world(MPI_THREAD_FUNNELED);
    const Node node = listening();
    allgather_fails = true;
    const auto failed = group::exchange_by_mpi(node, MPI_COMM_WORLD);
    expect_code(failed, Errc::io, "MPI that fails");
    expect(!failed.error().subject.empty(), "the text of MPI");
    allgather_fails = false;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    expect(handler == MPI_ERRORS_ARE_FATAL, "the communicator's handler of errors is the old one");
    MPI_Errhandler_free(&handler);
}

void threads() {
    const Node node = listening();
    expect_code(group::exchange_by_mpi(node, MPI_COMM_WORLD), Errc::invalid_argument, "before MPI_Init");
    {
        const World world(MPI_THREAD_FUNNELED);
        std::thread([&] {
            expect_code(group::exchange_by_mpi(node, MPI_COMM_WORLD), Errc::invalid_argument, "another thread");
        }).join();
    }
    expect_code(group::exchange_by_mpi(node, MPI_COMM_WORLD), Errc::invalid_argument, "after MPI_Finalize");
}

void single() {
    const World world(MPI_THREAD_SINGLE);
    const Node node = listening();
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    const auto exchanged = group::exchange_by_mpi(node, MPI_COMM_WORLD);
    expect_code(exchanged, level == MPI_THREAD_SINGLE ? Errc::unsupported : Errc::ok, "MPI_THREAD_SINGLE");
}

}  // namespace

int main(int count, char** arguments) {
    expect(count == 2, "one argument");
    const std::string_view what = arguments[1];
    if (what == "communicators") {
        communicators();
    } else if (what == "disagreements") {
        disagreements();
    } else if (what == "mpi_fails") {
        mpi_fails();
    } else if (what == "threads") {
        threads();
    } else if (what == "single") {
        single();
    } else {
        expect(false, "what to do");
    }
    return 0;
}
