// SPDX-License-Identifier: BSD-3-Clause
// Owning pointers to libfabric's objects, and conversion of its errors to Errc.
#pragma once

#include "fabric_library.hpp"

#include <cinnabar/base/result.hpp>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <cassert>
#include <memory>
#include <string>
#include <string_view>

namespace cinnabar::ofi {

struct CloseFid {
    template <typename T>
    void operator()(T* object) const noexcept {
        [[maybe_unused]] const int closed = ::fi_close(&object->fid);
        assert(closed == 0 && "what was opened in it is still open");
    }
};
template <typename T>
using Fid = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
    void operator()(fi_info* info) const noexcept { fabric_library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// The error code of a failed operation. `fi_error` may be positive or negative.
[[nodiscard]] Errc errc_of(long fi_error) noexcept;

// An error during set-up, with libfabric's text.
[[nodiscard]] Error error_of(long fi_error, std::string_view hint, std::string_view detail = {});

}  // namespace cinnabar::ofi
