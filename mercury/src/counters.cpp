// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

#include <algorithm>

namespace cinnabar::mercury {

void Counters::read(const Tallies& of_handles, hg_diag_counters& out) const noexcept {
    const auto value = [this](Which which) { return values_[which].load(std::memory_order_relaxed); };
    const std::uint64_t received = of_handles[Tally::requests_received];
    out.rpc_req_sent_count = of_handles[Tally::requests_sent];
    out.rpc_req_recv_count = received;
    out.rpc_resp_sent_count = of_handles[Tally::replies_sent];
    out.rpc_resp_recv_count = of_handles[Tally::replies_received];
    out.rpc_req_extra_count = value(requests_extra);
    out.rpc_resp_extra_count = value(replies_extra);
    out.rpc_req_recv_active_count = received - std::min(received, of_handles[Tally::requests_over]);
    out.rpc_multi_recv_copy_count = 0;
    out.bulk_count = value(bulk_transfers);
}

std::string text_of(const hg_diag_counters& counters) {
    std::string line = "counters:";
    const auto add = [&line](const char* name, std::uint64_t value) {
        line.append(1, ' ').append(name).append(1, '=').append(std::to_string(value));
    };
    add("rpc_req_sent", counters.rpc_req_sent_count);
    add("rpc_req_recv", counters.rpc_req_recv_count);
    add("rpc_resp_sent", counters.rpc_resp_sent_count);
    add("rpc_resp_recv", counters.rpc_resp_recv_count);
    add("rpc_req_extra", counters.rpc_req_extra_count);
    add("rpc_resp_extra", counters.rpc_resp_extra_count);
    add("rpc_req_recv_active", counters.rpc_req_recv_active_count);
    add("bulk", counters.bulk_count);
    return line;
}

}  // namespace cinnabar::mercury
