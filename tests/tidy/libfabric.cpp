// SPDX-License-Identifier: BSD-3-Clause
// Names in the public headers of libfabric 1.17 (rdma/*.h) that 2.x does not have, defines as something else, or calls
// deprecated; found by comparing v1.17.0 with v2.0.0 to v2.6.0. Each name is listed with the place that says so.
// Headers are those of v2.0.0 unless another version is named, "NEWS" is NEWS.md, and fi_NAME(3) is man/fi_NAME.3.md.
// Not listed: names for providers only (rdma/fi_ext.h, now in providers/fi_peer.h), and FI_EVENT, which is deprecated
// only for fi_av_open.
#include "rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace cinnabar::tidy {
namespace {

const std::map<std::string_view, std::string_view> names_of_1{
    // Gone.
    {"FI_BUFFERED_RECV", "gone: fabric.h; NEWS 2.0.0 alpha, \"Move FI_BUFFERED_RECV to internal flag\""},
    {"FI_EP_SOCK_DGRAM", "gone: fabric.h of 1.21; NEWS 1.21.0, \"Remove unimplemented or unused features\""},
    {"FI_LOG_MAX", "gone: providers/fi_log.h"},
    {"FI_LOG_SUBSYS_MAX", "gone: providers/fi_log.h"},
    {"FI_PATH_MAX", "gone: fabric.h; NEWS 2.0.0 alpha, \"FI_PATH_MAX is removed in 2.0 API\""},
    {"FI_PRIORITY", "gone: fabric.h of 1.21; NEWS 1.21.0, \"Move FI_PRIORITY to internal flag\""},
    {"FI_PROV_SPECIFIC", "gone: fabric.h of 1.21; NEWS 1.21.0, \"Remove FI_PROV_SPECIFIC\""},
    {"FI_VERSION_MAX", "gone: fabric.h"},
    {"FI_XPU_TRIGGER", "gone: fabric.h of 1.21; NEWS 1.21.0, \"Remove unimplemented or unused features\""},
    {"container_of", "gone: fabric.h; NEWS 2.0.0 alpha, \"Remove internally used definitions from public headers\""},
    {"count_of", "gone: fabric.h; NEWS 2.0.0 alpha, \"Remove internally used definitions from public headers\""},
    {"fi_mr_mode", "gone: fabric.h; NEWS 2.0.0 alpha, \"Deprecate old MR modes\""},
    // With another value, so that a request for something becomes a request for nothing.
    {"FI_EP_SOCK_STREAM", "FI_EP_UNSPEC: the end of fabric.h, from 1.21 on"},
    {"FI_NOTIFY_FLAGS_ONLY", "0: the end of fabric.h, from 1.21 on"},
    {"FI_RESTRICTED_COMP", "0: the end of fabric.h, from 1.21 on"},
    {"FI_VARIABLE_MSG", "0: the end of fabric.h, from 1.21 on"},
    // Deprecated: the headers cause compiler warnings.
    {"FI_LOCAL_MR", "deprecated: fabric.h, fi_getinfo(3)"},
    {"FI_MR_BASIC", "deprecated: fabric.h, fi_domain(3)"},
    {"FI_MR_SCALABLE", "deprecated: fabric.h, fi_domain(3)"},
    {"FI_MR_UNSPEC", "deprecated: fabric.h, fi_domain(3)"},
    {"FI_ORDER_DATA", "deprecated: fabric.h, fi_endpoint(3)"},
    {"FI_ORDER_NONE", "deprecated: fabric.h, fi_endpoint(3)"},
    {"FI_ORDER_STRICT", "deprecated: fabric.h, fi_endpoint(3)"},
    {"FI_REG_MR", "deprecated: fi_domain.h; NEWS 2.0.0 alpha, \"Deprecate support for async memory registration\""},
    {"fi_av_bind", "deprecated: fi_domain.h, fi_av(3)"},
    {"fi_poll", "deprecated: fi_eq.h, fi_poll(3)"},
    {"fi_poll_add", "deprecated: fi_eq.h, fi_poll(3)"},
    {"fi_poll_del", "deprecated: fi_eq.h, fi_poll(3)"},
    {"fi_poll_open", "deprecated: fi_domain.h, fi_poll(3)"},
    {"fi_rx_size_left", "deprecated, in 1.17 already: fi_endpoint.h, fi_endpoint(3)"},
    {"fi_tx_size_left", "deprecated, in 1.17 already: fi_endpoint.h, fi_endpoint(3)"},
    {"fi_wait", "deprecated: fi_eq.h, fi_poll(3)"},
    {"fi_wait_open", "deprecated: fi_domain.h, fi_poll(3)"},
    // Deprecated: only the documentation says so.
    {"FI_AV_MAP", "deprecated: fi_av(3), fi_domain(3)"},
    {"FI_THREAD_ENDPOINT", "deprecated: fi_domain(3); NEWS 2.0.0 alpha, \"Simplify threading models\""},
    {"FI_THREAD_FID", "deprecated: fi_domain(3); NEWS 2.0.0 alpha, \"Simplify threading models\""},
    {"FI_WAIT_MUTEX_COND", "deprecated: fi_eq.h, fi_cq(3); NEWS 2.0.0 alpha, \"Deprecate FI_WAIT_MUTEX_COND\""},
    {"FI_WAIT_SET", "deprecated: fi_cq(3); NEWS 2.0.0 alpha, \"Deprecate wait set and poll set\""},
    {"comp_order", "deprecated: NEWS 2.0.0 alpha, \"Deprecate comp_order attribute\""},
    {"fid_poll", "deprecated: fi_eq.h"},
    {"fid_wait", "deprecated: fi_eq.h"},
    {"total_buffered_recv", "deprecated: NEWS 2.0.0 alpha, \"Remove total_buffered_recv\"; to be 0: fi_endpoint(3)"},
    {"wait_set", "deprecated: fi_eq.h, fi_cq(3)"},
};

// The folders in which libfabric's headers are included.
constexpr std::array<std::string_view, 3> users{"plugins/ofi/", "tests/unit/ofi/", "tests/bench/"};

}  // namespace

Findings check_libfabric(const Source& source) {
    Findings findings;
    const bool uses = std::any_of(users.begin(), users.end(), [&](auto user) { return source.path.starts_with(user); });
    if (!uses || !source.is_cpp()) return findings;
    for (std::size_t i = 0; i < source.code.size(); ++i) {
        for (const auto name : names_in(source.code[i])) {
            const auto found = names_of_1.find(name);
            if (found == names_of_1.end()) continue;
            findings.push_back(
                {source.path, i + 1, "libfabric's " + std::string(name) + ", in 2.x " + std::string(found->second)});
        }
    }
    return findings;
}

}  // namespace cinnabar::tidy
