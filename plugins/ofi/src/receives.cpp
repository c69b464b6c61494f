// SPDX-License-Identifier: BSD-3-Clause
#include "receives.hpp"

#include "port.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::ofi {
namespace {

constexpr std::size_t copied_bytes_max = 4096;

}  // namespace

Receives::Receives(OfiPort& port, std::size_t frame_bytes_max) : port_(port), frame_bytes_max_(frame_bytes_max) {}

Receives::~Receives() { CINNABAR_ASSERT(!endpoint_); }

Errc Receives::open(Endpoint& endpoint) noexcept {
    endpoint_ = &endpoint;
    receives_ = std::vector<Receive>(port_.provider().receives);
    std::size_t posted = 0;
    Errc why = Errc::ok;
    for (Receive& receive : receives_) {
        receive.owner = this;
        receive.done = &Receives::came;
        if (endpoint.registrar().wants_local()) {
            receive.slot.reset(new (std::nothrow) std::byte[frame_bytes_max_]);
            if (!receive.slot) return Errc::out_of_memory;
            why = endpoint.registrar().local({receive.slot.get(), frame_bytes_max_}, receive.memory);
            if (why != Errc::ok) return why;
        }
        why = post(receive);
        if (why == Errc::ok) {
            ++posted;
        } else if (why == Errc::again) {
            receive.next = std::exchange(waiting_, &receive);
        } else {
            return why;
        }
    }
    return posted > 0 ? Errc::ok : why;
}

Errc Receives::post(Receive& receive) noexcept {
    if (receive.slot) return endpoint_->receive(receive.slot.get(), frame_bytes_max_, receive.memory, receive);
    if (!receive.block) receive.block = port_.blocks().take(frame_bytes_max_);
    if (!receive.block) return Errc::again;
    return endpoint_->receive(receive.block->bytes(), frame_bytes_max_, receive.memory, receive);
}

void Receives::post_or_wait(Receive& receive) noexcept {
    if (post(receive) != Errc::ok) receive.next = std::exchange(waiting_, &receive);
}

bool Receives::repost() noexcept {
    Receive* list = std::exchange(waiting_, nullptr);
    while (list) post_or_wait(*std::exchange(list, list->next));
    return waiting_ == nullptr;
}

void Receives::came(FabricOp& op, const Done& done) noexcept {
    auto& receive = static_cast<Receive&>(op);
    receive.owner->hand_out(receive, done);
}

void Receives::hand_out(Receive& receive, const Done& done) noexcept {
    na::ReceiveBlock* block = nullptr;
    if (done.result == Errc::ok) {
        const bool copy = receive.slot || done.bytes <= copied_bytes_max;
        if (copy) block = port_.blocks().take(done.bytes);
        if (block) {
            std::memcpy(block->bytes(), receive.slot ? receive.slot.get() : receive.block->bytes(), done.bytes);
        } else {
            block = std::exchange(receive.block, nullptr);
        }
        // Null: it is in the slot, and there is no memory for a copy.
        if (!block) port_.frame_lost({receive.slot.get(), done.bytes});
    }
    // Posts the next receive first, because the handler may take long.
    post_or_wait(receive);
    if (!block) return;
    port_.frame_came({block->bytes(), done.bytes}, *block, done.source);
    port_.blocks().unreference(*block);
}

void Receives::close() noexcept {
    endpoint_ = nullptr;
    waiting_ = nullptr;
    for (Receive& receive : receives_) {
        receive.memory.reset();
        if (na::ReceiveBlock* block = std::exchange(receive.block, nullptr)) port_.blocks().unreference(*block);
    }
}

}  // namespace cinnabar::ofi
