// SPDX-License-Identifier: BSD-3-Clause
// A group by MPI, built against the installed tree, of a process that is the only one of its communicator.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/mpi.hpp>

#include <cstdio>

int main(int count, char** arguments) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &provided);
    bool works = false;
    {
        const auto node = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
        const auto group = cinnabar::group::bootstrap_by_mpi(node, MPI_COMM_SELF);
        works = group.ok() && group->rank() == 0;
    }
    std::printf("%s\n", works ? "one member" : "no group");
    MPI_Finalize();
    return works ? 0 : 1;
}
