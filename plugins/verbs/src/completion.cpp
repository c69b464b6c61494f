// SPDX-License-Identifier: BSD-3-Clause
#include "completion.hpp"

namespace cinnabar::verbs {

Errc operation_error(ibv_wc_status status) noexcept {
    switch (status) {
        case IBV_WC_SUCCESS:
            return Errc::ok;
        case IBV_WC_REM_ACCESS_ERR:  // the key was revoked, or does not allow the access
        case IBV_WC_LOC_PROT_ERR:    // local memory is not registered for the access
        case IBV_WC_LOC_ACCESS_ERR:
        case IBV_WC_MW_BIND_ERR:
            return Errc::permission;
        case IBV_WC_LOC_LEN_ERR:
        case IBV_WC_BAD_RESP_ERR:
        case IBV_WC_REM_INV_REQ_ERR:
        case IBV_WC_REM_OP_ERR:
            return Errc::protocol;
        case IBV_WC_LOC_EEC_OP_ERR:
        case IBV_WC_FATAL_ERR:
        case IBV_WC_GENERAL_ERR:
            return Errc::io;
        default:  // flushed, or retries exhausted; on iWARP also a stream that broke during a write
            return Errc::peer_lost;
    }
}

Errc session_error(ibv_wc_status status) noexcept {
    const Errc why = operation_error(status);
    return why == Errc::io || why == Errc::protocol ? why : Errc::peer_lost;
}

}  // namespace cinnabar::verbs
