// SPDX-License-Identifier: BSD-3-Clause
#include "more_data.hpp"

#include "core_objects.hpp"

#include <utility>

namespace cinnabar::mercury {
namespace {

void brought(WorkItem& work) noexcept {
    hg_handle& handle = *static_cast<hg_handle*>(work.user);
    handle.more.coming.store(false, std::memory_order_release);
    handle.more.next(handle, handle.more.ret);
    drop(handle);
}

// The `done` function, which the user may call on any thread.
void done(hg_core_handle_t core_handle, hg_return_t ret) {
    hg_handle& handle = *hg(core_handle);
    WorkItem& work = handle.more.work;
    handle.more.ret = ret;
    work.user = &handle;
    work.run = [](WorkItem& self) noexcept {
        self.run = brought;
        static_cast<hg_handle*>(self.user)->info.context->rpc->na().enqueue(self);
    };
    handle.info.context->rpc->na().submit(work);
}

}  // namespace

hg_return_t put_core_flags(hg_handle& handle, Bytes room, std::size_t payload_bytes, std::uint8_t flags) noexcept {
    if ((flags & ~HG_CORE_MORE_DATA) != 0) return HG_OPNOTSUPPORTED;
    if (room.size() < core_flags_bytes || payload_bytes > room.size() - core_flags_bytes) return HG_MSGSIZE;
    room[payload_bytes] = static_cast<std::byte>(flags);
    handle.more.release = handle.more.release || flags != 0;
    return HG_SUCCESS;
}

void bring_more(hg_handle& handle, hg_op_t op, ConstBytes message,
                void (*next)(hg_handle& handle, hg_return_t ret) noexcept) noexcept {
    if (message.empty()) return next(handle, HG_PROTOCOL_ERROR);
    if ((std::to_integer<unsigned>(message.back()) & HG_CORE_MORE_DATA) == 0) return next(handle, HG_SUCCESS);
    const hg_class& owner = *handle.info.hg_class;
    if (!owner.more_acquire) return next(handle, HG_OPNOTSUPPORTED);
    if (op == HG_INPUT) handle.input_state.settle(handle);  // releases the receive memory before the fetch
    handle.more.next = next;
    handle.more.release = true;
    handle.more.coming.store(true, std::memory_order_release);
    handle.references.fetch_add(1, std::memory_order_relaxed);
    const hg_return_t begun = owner.more_acquire(core(&handle), op, done);
    if (begun == HG_SUCCESS) return;
    handle.more.coming.store(false, std::memory_order_release);
    next(handle, begun);
    drop(handle);
}

void release_more(hg_handle& handle) noexcept {
    const hg_class& owner = *handle.info.hg_class;
    if (std::exchange(handle.more.release, false) && owner.more_release) owner.more_release(core(&handle));
}

}  // namespace cinnabar::mercury
