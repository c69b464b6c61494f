// SPDX-License-Identifier: BSD-3-Clause
#include "figures.hpp"

namespace cinnabar::bench {

std::vector<Figure> all_figures() {
    std::vector<Figure> all;
    for (auto* group :
         {rpc_figures,         typed_figures,       bulk_figures,        shm_figures,         remote_figures,
          file_figures,        save_figures,        save_small_figures,  fetch_small_figures, save_tree_figures,
          save_change_figures, save_resume_figures, save_memory_figures, save_crash_figures,  client_figures,
          peer_figures,        failure_figures,     flood_figures,       credit_figures,      watching_figures,
          group_figures,       group_start_figures, machine_figures}) {
        for (auto& figure : group()) all.push_back(std::move(figure));
    }
#ifdef CINNABAR_BENCH_GROUP
    for (auto* group : {group_bulk_figures, group_memory_figures}) {
        for (auto& figure : group()) all.push_back(std::move(figure));
    }
#endif
#ifdef CINNABAR_BENCH_TCPS
    for (auto& figure : tls_figures()) all.push_back(std::move(figure));
#endif
#ifdef CINNABAR_BENCH_OFI
    for (auto& figure : ofi_figures()) all.push_back(std::move(figure));
#endif
#ifdef CINNABAR_HAS_MERCURY_API
    for (auto& figure : mercury_api_figures()) all.push_back(std::move(figure));
#endif
#ifdef CINNABAR_BENCH_VERBS
    for (auto& figure : verbs_figures()) all.push_back(std::move(figure));
#endif
    return all;
}

}  // namespace cinnabar::bench
