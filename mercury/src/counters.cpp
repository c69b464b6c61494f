// SPDX-License-Identifier: BSD-3-Clause
#include "counters.hpp"

namespace cinnabar::mercury {

void Counters::read(hg_diag_counters& out) const noexcept {
    const auto value = [this](Which which) { return values_[which].load(std::memory_order_relaxed); };
    out.rpc_req_sent_count = value(requests_sent);
    out.rpc_req_recv_count = value(requests_received);
    out.rpc_resp_sent_count = value(replies_sent);
    out.rpc_resp_recv_count = value(replies_received);
    out.rpc_req_extra_count = value(requests_extra);
    out.rpc_resp_extra_count = value(replies_extra);
    out.rpc_req_recv_active_count = value(requests_active);
    out.rpc_multi_recv_copy_count = 0;
    out.bulk_count = value(bulk_transfers);
}

std::string Counters::text() const {
    static constexpr std::array<const char*, count> names{"rpc_req_sent",        "rpc_req_recv",  "rpc_resp_sent",
                                                          "rpc_resp_recv",       "rpc_req_extra", "rpc_resp_extra",
                                                          "rpc_req_recv_active", "bulk"};
    std::string line = "counters:";
    for (unsigned i = 0; i < count; ++i) {
        line += ' ' + std::string(names[i]) + '=' + std::to_string(values_[i].load(std::memory_order_relaxed));
    }
    return line;
}

}  // namespace cinnabar::mercury
