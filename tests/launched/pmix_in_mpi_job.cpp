// SPDX-License-Identifier: BSD-3-Clause
// A process of an MPI program whose MPI uses PMIx as well: groups by PMIx, which MPI does not notice.
#include "job.hpp"

#include <cinnabar/group/pmix.hpp>

#include <mpi.h>

using namespace cinnabar;
using namespace cinnabar::test;

int main(int count, char** arguments) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &provided);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    {
        const Node node = listening();
        const auto first = sync_wait(group::bootstrap_by_pmix(node));
        expect_member(first, static_cast<group::Rank>(rank), static_cast<std::size_t>(size));
        const auto second = sync_wait(group::bootstrap_by_pmix(node, options_for("second", 1)));
        expect_member(second, static_cast<group::Rank>(rank), static_cast<std::size_t>(size));
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size * (size - 1) / 2, "MPI still works");
    MPI_Finalize();
    return 0;
}
