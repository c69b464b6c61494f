// SPDX-License-Identifier: BSD-3-Clause
// Groups of processes that a PMIx launcher has started: mpirun of Open MPI, prterun, prun, srun --mpi=pmix.
//
//     Group group = (co_await bootstrap_by_pmix(node)).value();
//
// Needs libpmix: the target cinnabar::pmix, by find_package(cinnabar COMPONENTS pmix).
//
// All processes of the job (the PMIx namespace) must call these functions; repeated calls must come one after the
// other, in the same order in all processes. PMIx blocks, so it is used on a separate thread, never on a loop. PMIx is
// initialized for the exchange and finalized after it, because a launcher treats the exit of a process that has not
// finalized PMIx as a failure. If the program or its MPI has initialized PMIx, PMIx stays initialized. A program that
// also uses MPI calls MPI_Init first: Open MPI 4.1 does not start after PMIx was finalized. Any thread and any task may
// call.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/task.hpp>

#include <string>

namespace cinnabar::group {

struct PmixJob {
    std::string run;  // the PMIx namespace, which names this run of the job
    Roster roster;    // the addresses of all processes of the job, by PMIx rank
};

// Gives the node's address to the other processes of the job and gets theirs. Uses the name, the provider and the
// join_time of `options`; PMIx counts time in seconds, so join_time is rounded up. not_found: no PMIx launcher has
// started this process. timed_out: not all processes made the call in time. invalid_argument: the node does not listen,
// or another process exchanged addresses for another name or provider. busy: this process already exchanges addresses,
// or a thread of an exchange that has timed out still hangs in PMIx. too_large: the job has more than 65,536 processes.
// io: PMIx failed; Error::subject has its function and its error. canceled: the task was canceled; the exchange itself
// continues until its end, and the other processes get their result.
[[nodiscard]] CINNABAR_API hl::Task<Result<PmixJob>> exchange_by_pmix(hl::NodeRef node, GroupOptions options = {});

// Makes this process a member, with its PMIx rank. Returns when its part of the group has started;
// wait_for_members() waits for the others. Errors of exchange_by_pmix() and Group::start().
[[nodiscard]] CINNABAR_API hl::Task<Result<Group>> bootstrap_by_pmix(hl::NodeRef node, GroupOptions options = {});

}  // namespace cinnabar::group
