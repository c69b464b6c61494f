// SPDX-License-Identifier: BSD-3-Clause
// Address look-up with a callback. The look-up itself is immediate; only the callback is deferred to trigger().
#include "callback.hpp"
#include "context.hpp"
#include "errors.hpp"

#include <memory>

using namespace cinnabar;

namespace {

struct Lookup {
    mercury::Callback queued;
    hg_cb_t callback = nullptr;
    hg_cb_info told{};
};

}  // namespace

hg_return_t HG_Addr_lookup1(hg_context_t* context, hg_cb_t callback, void* arg, const char* name, hg_op_id_t* op_id) {
    if (!context || !callback || !name) return HG_INVALID_ARG;
    if (op_id && op_id != HG_OP_ID_IGNORE) *op_id = HG_OP_ID_NULL;
    return mercury::guarded([&] {
        auto lookup = std::make_unique<Lookup>();
        lookup->callback = callback;
        lookup->told.arg = arg;
        lookup->told.type = HG_CB_LOOKUP;
        const hg_return_t looked = HG_Addr_lookup2(context->owner, name, &lookup->told.info.lookup.addr);
        if (looked != HG_SUCCESS) return looked;
        lookup->told.ret = HG_SUCCESS;
        lookup->queued.run.user = lookup.get();
        lookup->queued.run.run = [](WorkItem& work) noexcept {
            const std::unique_ptr<Lookup> found(static_cast<Lookup*>(work.user));
            (void)found->callback(&found->told);
        };
        lookup.release()->queued.queue(context->rpc->na());
        return HG_SUCCESS;
    });
}
