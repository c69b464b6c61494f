// SPDX-License-Identifier: BSD-3-Clause
// A process of an MPI program that does what `cinnabar perf group` measures: a broadcast of 64 bytes that each process
// confirms, and a barrier. Rank 0 prints the median times, like that command. Argument: the number of rounds.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int warm_up = 20;

// Nanoseconds.
template <typename Round>
double median_of(int rounds, Round round) {
    std::vector<double> times;
    for (int i = 0; i < warm_up + rounds; ++i) {
        const double from = MPI_Wtime();
        round();
        if (i >= warm_up) times.push_back((MPI_Wtime() - from) * 1e9);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void print(const char* collective, double median_ns) {
    std::printf("{\"collective\": \"%s\", \"p50_ns\": %.0f}\n", collective, median_ns);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: %s ROUNDS\n", arguments[0]);
        return 2;
    }
    const int rounds = std::max(std::atoi(arguments[1]), 1);
    if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return 1;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::array<char, 64> message{};
    const double broadcast = median_of(rounds, [&] {
        MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
        const int own = 1;
        int all = 0;
        MPI_Reduce(&own, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    });
    const double barrier = median_of(rounds, [] { MPI_Barrier(MPI_COMM_WORLD); });
    if (rank == 0) {
        print("broadcast", broadcast);
        print("barrier", barrier);
    }
    MPI_Finalize();
    return 0;
}
