// SPDX-License-Identifier: BSD-3-Clause
#include "system_errors.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <string>

namespace cinnabar::verbs {
namespace {

std::string locked_memory_limit() {
    rlimit locked{};
    (void)::getrlimit(RLIMIT_MEMLOCK, &locked);
    const bool unlimited = locked.rlim_cur == RLIM_INFINITY;
    return "the limit is " + (unlimited ? "unlimited" : std::to_string(locked.rlim_cur / 1024) + " KiB");
}

}  // namespace

Error registration_error(int os_errno) {
    if (os_errno != ENOMEM && os_errno != EAGAIN) {
        return Error(errc_from_errno(os_errno) == Errc::out_of_memory ? Errc::out_of_memory : Errc::permission,
                     "registering memory: is it mapped, and writable where it is to be written?", {}, os_errno);
    }
    return Error(Errc::out_of_memory,
                 "RDMA pins what it registers: raise the limit of locked memory (ulimit -l unlimited, or "
                 "LimitMEMLOCK=infinity of the service)",
                 locked_memory_limit(), os_errno);
}

Error window_error(int os_errno) {
    return Error(Errc::too_large,
                 "the RDMA device has no more memory windows, of which each segment that is lent needs one: lend less "
                 "at a time, or open the address without ?windows=yes: keys are then valid for every connection",
                 {}, os_errno);
}

Error connection_error(int os_errno) {
    switch (os_errno) {
        case ENOMEM:
        case EAGAIN:
            return Error(Errc::out_of_memory,
                         "the queues of an RDMA connection are pinned: raise the limit of locked memory (ulimit -l "
                         "unlimited, or LimitMEMLOCK=infinity of the service), or lower connections_max if the device "
                         "has no more queue pairs",
                         locked_memory_limit(), os_errno);
        case EPERM:
        case EACCES:
            return Error(Errc::permission, "no permission to make RDMA connections: see /dev/infiniband", {}, os_errno);
        case EMFILE:
        case ENFILE:
        case ENOSPC:
        case EBUSY:
            return Error(Errc::overloaded, "the device has no more RDMA connections: lower connections_max", {},
                         os_errno);
        case EINVAL:
        case EOPNOTSUPP:
        case ENOSYS:
            static_assert(inline_bytes_min == 16);
            return Error(Errc::unsupported,
                         "the device makes no queue pair with a shared receive queue and 16 bytes inline", {},
                         os_errno);
        default:
            return Error(Errc::io, "the RDMA device cannot make a connection", {}, os_errno);
    }
}

}  // namespace cinnabar::verbs
