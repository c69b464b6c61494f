// SPDX-License-Identifier: BSD-3-Clause
// All figures, in the order of the table. One file per subject.
#pragma once

#include "../harness/figure.hpp"

#include <vector>

namespace cinnabar::bench {

[[nodiscard]] std::vector<Figure> rpc_figures();
[[nodiscard]] std::vector<Figure> typed_figures();
[[nodiscard]] std::vector<Figure> bulk_figures();
[[nodiscard]] std::vector<Figure> shm_figures();
[[nodiscard]] std::vector<Figure> remote_figures();
[[nodiscard]] std::vector<Figure> file_figures();
[[nodiscard]] std::vector<Figure> save_figures();
[[nodiscard]] std::vector<Figure> save_small_figures();
[[nodiscard]] std::vector<Figure> fetch_small_figures();
[[nodiscard]] std::vector<Figure> save_tree_figures();
[[nodiscard]] std::vector<Figure> save_change_figures();
[[nodiscard]] std::vector<Figure> save_resume_figures();
[[nodiscard]] std::vector<Figure> save_memory_figures();
[[nodiscard]] std::vector<Figure> save_crash_figures();
[[nodiscard]] std::vector<Figure> client_figures();
[[nodiscard]] std::vector<Figure> peer_figures();
[[nodiscard]] std::vector<Figure> failure_figures();
[[nodiscard]] std::vector<Figure> flood_figures();
[[nodiscard]] std::vector<Figure> credit_figures();
[[nodiscard]] std::vector<Figure> watching_figures();
[[nodiscard]] std::vector<Figure> group_figures();
[[nodiscard]] std::vector<Figure> group_start_figures();
[[nodiscard]] std::vector<Figure> machine_figures();
#ifdef CINNABAR_BENCH_GROUP
[[nodiscard]] std::vector<Figure> group_bulk_figures();
[[nodiscard]] std::vector<Figure> group_memory_figures();
#endif
#ifdef CINNABAR_BENCH_TCPS
[[nodiscard]] std::vector<Figure> tls_figures();
#endif
#ifdef CINNABAR_BENCH_OFI
[[nodiscard]] std::vector<Figure> ofi_figures();
#endif
#ifdef CINNABAR_HAS_MERCURY_API
[[nodiscard]] std::vector<Figure> mercury_api_figures();
#endif
// Empty without the RDMA devices of the machine of tests/vm.
[[nodiscard]] std::vector<Figure> verbs_figures();

[[nodiscard]] std::vector<Figure> all_figures();

}  // namespace cinnabar::bench
