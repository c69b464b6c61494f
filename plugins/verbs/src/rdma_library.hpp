// SPDX-License-Identifier: BSD-3-Clause
// Loads rdma-core (libibverbs and librdmacm) when the first verbs address is opened, so that programs with other
// transports do not need the libraries. The functions listed here are found by name. Posting and polling use the inline
// functions of the headers, which call through the device's table.
#pragma once

#include <cinnabar/base/result.hpp>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>

// F(prefix, name) for the exported symbol prefix_name.
#define CINNABAR_RDMA_FUNCTIONS(F) \
    F(ibv, ack_async_event)        \
    F(ibv, ack_cq_events)          \
    F(ibv, alloc_pd)               \
    F(ibv, create_comp_channel)    \
    F(ibv, create_cq)              \
    F(ibv, create_srq)             \
    F(ibv, dealloc_pd)             \
    F(ibv, dereg_mr)               \
    F(ibv, destroy_comp_channel)   \
    F(ibv, destroy_cq)             \
    F(ibv, destroy_srq)            \
    F(ibv, event_type_str)         \
    F(ibv, fork_init)              \
    F(ibv, free_device_list)       \
    F(ibv, get_async_event)        \
    F(ibv, get_cq_event)           \
    F(ibv, get_device_list)        \
    F(ibv, get_device_name)        \
    F(ibv, is_fork_initialized)    \
    F(ibv, modify_qp)              \
    F(ibv, query_device)           \
    F(ibv, query_port)             \
    F(ibv, reg_mr)                 \
    F(ibv, reg_mr_iova)            \
    F(ibv, wc_status_str)          \
    F(_ibv, query_gid_ex)          \
    F(rdma, accept)                \
    F(rdma, ack_cm_event)          \
    F(rdma, bind_addr)             \
    F(rdma, connect)               \
    F(rdma, create_event_channel)  \
    F(rdma, create_id)             \
    F(rdma, create_qp)             \
    F(rdma, destroy_event_channel) \
    F(rdma, destroy_id)            \
    F(rdma, destroy_qp)            \
    F(rdma, disconnect)            \
    F(rdma, get_cm_event)          \
    F(rdma, get_src_port)          \
    F(rdma, listen)                \
    F(rdma, migrate_id)            \
    F(rdma, reject)                \
    F(rdma, resolve_addr)          \
    F(rdma, resolve_route)         \
    F(rdma, set_option)

namespace cinnabar::verbs {

struct RdmaLibrary {
    // Loads the libraries on the first call and keeps them for the life of the process. unsupported: they cannot be
    // loaded; the subject has the loader's message. Any thread.
    [[nodiscard]] static Result<void> load();

#define CINNABAR_RDMA_MEMBER(prefix, name) decltype(&(::prefix##_##name)) name = nullptr;
    CINNABAR_RDMA_FUNCTIONS(CINNABAR_RDMA_MEMBER)
#undef CINNABAR_RDMA_MEMBER
};

// The libraries after a successful load(). Any thread.
[[nodiscard]] const RdmaLibrary& rdma() noexcept;

}  // namespace cinnabar::verbs
