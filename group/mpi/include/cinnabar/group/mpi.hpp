// SPDX-License-Identifier: BSD-3-Clause
// Groups of the processes of an MPI communicator. A member's rank is its rank in the communicator.
//
//     int provided = 0;
//     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//     Node node = Node::listen("tcp://0.0.0.0:0").value();
//     Group group = bootstrap_by_mpi(node, MPI_COMM_WORLD).value();
//
// Header-only, since each MPI has its own ABI: the program is compiled and linked with its MPI. The target
// cinnabar::mpi (find_package(cinnabar COMPONENTS mpi)) links the MPI that CMake finds. Uses the C functions of
// MPI 2.2.
//
// These are plain functions that call MPI on the calling thread: never call them in a task or a handler. They are
// collective: all processes of the communicator call them in the same order as their other collective operations, and
// they block until all processes have called them; MPI has no time limit. A node has threads of its own, so MPI must be
// initialized with MPI_THREAD_FUNNELED at least. With MPI_THREAD_FUNNELED, only the main thread may call these
// functions; with MPI_THREAD_SERIALIZED, no other thread may call MPI meanwhile. After they have returned, the group no
// longer needs MPI.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/announcement.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::group {
namespace detail {

inline Result<void> checked_mpi(int code, std::string_view hint) {
    if (code == MPI_SUCCESS) return {};
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
    return Error(Errc::io, hint, std::string(text.data(), static_cast<std::size_t>(length)));
}

// Whether this thread may call MPI for a process that has other threads.
inline Result<void> check_mpi_thread() {
    int begun = 0;
    int ended = 0;
    (void)MPI_Initialized(&begun);
    if (begun != 0) (void)MPI_Finalized(&ended);
    if (begun == 0 || ended != 0)
        return Error(Errc::invalid_argument, "MPI is not initialized: call MPI_Init_thread first");
    int level = MPI_THREAD_SINGLE;
    int on_main = 0;
    CINNABAR_TRY_VOID(checked_mpi(MPI_Query_thread(&level), "MPI_Query_thread failed"));
    CINNABAR_TRY_VOID(checked_mpi(MPI_Is_thread_main(&on_main), "MPI_Is_thread_main failed"));
    if (level < MPI_THREAD_FUNNELED)
        return Error(Errc::unsupported,
                     "a node has threads: call MPI_Init_thread with MPI_THREAD_FUNNELED in place of MPI_Init");
    if (level < MPI_THREAD_SERIALIZED && on_main == 0)
        return Error(Errc::invalid_argument, "with MPI_THREAD_FUNNELED only the main thread may call MPI");
    return {};
}

// While this object lives, errors on the communicator are returned. By default they end the program.
class MpiErrorsReturn {
  public:
    explicit MpiErrorsReturn(MPI_Comm comm) : comm_(comm) {
        changed_ = MPI_Comm_get_errhandler(comm_, &before_) == MPI_SUCCESS &&
                   MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    }
    ~MpiErrorsReturn() {
        if (changed_) (void)MPI_Comm_set_errhandler(comm_, before_);
        if (before_ != MPI_ERRHANDLER_NULL) (void)MPI_Errhandler_free(&before_);
    }
    MpiErrorsReturn(const MpiErrorsReturn&) = delete;
    MpiErrorsReturn& operator=(const MpiErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
    bool changed_ = false;
};

// What each process announces first, so that all agree on whether addresses can be exchanged.
struct MpiGreeting {
    static constexpr int words = 2;
    std::uint64_t group = 0;          // name and provider
    std::uint64_t address_bytes = 0;  // 0: the node does not listen, or cannot be a member
};
static_assert(sizeof(MpiGreeting) == MpiGreeting::words * sizeof(std::uint64_t));

// The offset of each rank's address among all of them, in bytes, and the total size at the end.
inline Result<std::vector<int>> place_addresses(const std::vector<MpiGreeting>& greetings) {
    constexpr std::uint64_t address_bytes_max = 16'384;
    std::vector<int> begins{0};
    for (std::size_t rank = 0; rank < greetings.size(); ++rank) {
        const MpiGreeting& each = greetings[rank];
        const std::string rank_name = "rank " + std::to_string(rank);
        if (each.address_bytes == 0)
            return Error(Errc::invalid_argument, "a member must listen: make the node with Node::listen", rank_name);
        if (each.group != greetings.front().group)
            return Error(Errc::invalid_argument, "the name or the provider differs from that of rank 0", rank_name);
        if (each.address_bytes > address_bytes_max)
            return Error(Errc::too_large, "an address has at most 16,384 bytes: listen on fewer endpoints", rank_name);
        begins.push_back(begins.back() + static_cast<int>(each.address_bytes));
    }
    return begins;
}

inline Result<std::vector<std::string>> gather_addresses(MPI_Comm comm, std::size_t size, const std::string& mine,
                                                         std::uint64_t group) {
    MpiGreeting greeting{group, mine.size()};
    std::vector<MpiGreeting> greetings(size);
    CINNABAR_TRY_VOID(checked_mpi(MPI_Allgather(&greeting, MpiGreeting::words, MPI_UINT64_T, greetings.data(),
                                                MpiGreeting::words, MPI_UINT64_T, comm),
                                  "MPI_Allgather failed"));
    CINNABAR_TRY(const std::vector<int> begins, place_addresses(greetings));
    std::vector<int> counts(size);
    for (std::size_t rank = 0; rank < size; ++rank) counts[rank] = begins[rank + 1] - begins[rank];
    std::string own = mine;
    std::string all(static_cast<std::size_t>(begins.back()), '\0');
    CINNABAR_TRY_VOID(checked_mpi(MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(),
                                                 counts.data(), begins.data(), MPI_CHAR, comm),
                                  "MPI_Allgatherv failed"));
    std::vector<std::string> addresses;
    addresses.reserve(size);
    for (std::size_t rank = 0; rank < size; ++rank)
        addresses.push_back(all.substr(static_cast<std::size_t>(begins[rank]), static_cast<std::size_t>(counts[rank])));
    return addresses;
}

// Gives `mine`, an address or the line of an Announcement, to the other processes of the communicator, and gets theirs.
inline Result<Roster> exchange_text(MPI_Comm comm, const GroupOptions& options, const std::string& mine) {
    constexpr int processes_max = 65'536;
    CINNABAR_TRY_VOID(check_mpi_thread());
    if (comm == MPI_COMM_NULL)
        return Error(Errc::invalid_argument, "the communicator is null: this process is not in it");
    const MpiErrorsReturn returning(comm);
    int between = 0;
    int size = 0;
    int rank = 0;
    CINNABAR_TRY_VOID(checked_mpi(MPI_Comm_test_inter(comm, &between), "MPI_Comm_test_inter failed"));
    if (between != 0)
        return Error(Errc::invalid_argument, "an inter-communicator has two groups: merge them by MPI_Intercomm_merge");
    CINNABAR_TRY_VOID(checked_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size failed"));
    CINNABAR_TRY_VOID(checked_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank failed"));
    if (size > processes_max) return Error(Errc::too_large, "a group has at most 65,536 members from the start");
    const std::uint64_t group = rpc::rpc_id(options.name) * 31 + options.provider;
    Roster roster;
    CINNABAR_TRY(roster.addresses, gather_addresses(comm, static_cast<std::size_t>(size), mine, group));
    roster.self = static_cast<Rank>(rank);
    return roster;
}

}  // namespace detail

// Gives the node's address to the other processes of the communicator and gets theirs, by rank. Uses the name and the
// provider of `options`.
//
// Errors that all processes get: invalid_argument: the node of one process does not listen, or the processes use
// different names or providers. too_large: more than 65,536 processes, or an address of more than 16,384 bytes. Errors
// of this process alone, after which the others may wait for this process: invalid_argument: MPI is not initialized or
// already finalized, this thread may not call it, or the communicator is null or an inter-communicator. unsupported:
// MPI_THREAD_SINGLE. io: MPI failed; Error::subject has MPI's text.
[[nodiscard]] inline Result<Roster> exchange_by_mpi(hl::NodeRef node, MPI_Comm comm, const GroupOptions& options = {}) {
    return detail::exchange_text(comm, options, node.address());
}

// Makes this process a member; all processes of the communicator are present from the start. Errors of
// exchange_by_mpi(), Announcement::make() and start(). If this process cannot be a member, the others get
// invalid_argument, as if its node did not listen.
[[nodiscard]] inline Result<Group> bootstrap_by_mpi(hl::NodeRef node, MPI_Comm comm, GroupOptions options = {}) {
    Result<Announcement> mine = Announcement::make(node, options);
    auto roster = detail::exchange_text(comm, options, mine ? mine->line() : std::string());
    if (!mine && (roster || !node.address().empty())) return std::move(mine).error();
    if (!roster) return std::move(roster).error();
    return std::move(*mine).start(roster->addresses, roster->self);
}

}  // namespace cinnabar::group
