// SPDX-License-Identifier: BSD-3-Clause
#include "receives.hpp"

#include "port.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace cinnabar::ofi {
namespace {

constexpr std::size_t shared_receives = 8;

}  // namespace

Receives::Receives(OfiPort& port, std::size_t frame_bytes_max) : port_(port), frame_bytes_max_(frame_bytes_max) {}

Receives::~Receives() { CINNABAR_ASSERT(!endpoint_); }

Errc Receives::open(Endpoint& endpoint) noexcept {
    endpoint_ = &endpoint;
    many_ = port_.provider().multi_receive && !endpoint.registers();
    receives_ = std::vector<Receive>(many_ ? shared_receives : port_.provider().receives);
    std::size_t posted = 0;
    Errc why = Errc::ok;
    for (Receive& receive : receives_) {
        receive.owner = this;
        receive.done = &Receives::came;
        if (endpoint.registers()) {
            receive.slot.reset(new (std::nothrow) std::byte[frame_bytes_max_]);
            if (!receive.slot) return Errc::out_of_memory;
            why = endpoint.register_local(receive.slot.get(), frame_bytes_max_, receive.memory);
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
    na::ReceiveBlock* block = many_ ? port_.blocks().take_shared() : port_.blocks().take(frame_bytes_max_);
    if (!block) return Errc::again;
    const Errc why = many_ ? endpoint_->receive_many(block->bytes(), port_.blocks().shared_bytes(), receive)
                           : endpoint_->receive(block->bytes(), frame_bytes_max_, receive.memory, receive);
    if (why == Errc::ok) {
        receive.block = block;
    } else if (many_) {
        port_.blocks().give_shared(*block);
    } else {
        port_.blocks().unreference(*block);
    }
    return why;
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
    if (many_) {
        const bool full = (done.flags & FI_MULTI_RECV) != 0 || done.result != Errc::ok;
        if (done.result == Errc::ok && done.at) port_.frame_came({done.at, done.bytes}, *receive.block);
        if (!full || !endpoint_) return;
        port_.blocks().give_shared(*std::exchange(receive.block, nullptr));
        return post_or_wait(receive);
    }
    na::ReceiveBlock* block = std::exchange(receive.block, nullptr);
    if (receive.slot && done.result == Errc::ok) {
        block = port_.blocks().take(done.bytes);
        if (block) std::memcpy(block->bytes(), receive.slot.get(), done.bytes);
    }
    // The next goes up before this one is looked at: the handler may take its time.
    post_or_wait(receive);
    if (!block) return;
    if (done.result == Errc::ok) port_.frame_came({block->bytes(), done.bytes}, *block);
    port_.blocks().unreference(*block);
}

void Receives::close() noexcept {
    endpoint_ = nullptr;
    waiting_ = nullptr;
    for (Receive& receive : receives_) {
        receive.memory.reset();
        na::ReceiveBlock* block = std::exchange(receive.block, nullptr);
        if (!block) continue;
        if (many_) {
            port_.blocks().give_shared(*block);
        } else {
            port_.blocks().unreference(*block);
        }
    }
}

}  // namespace cinnabar::ofi
