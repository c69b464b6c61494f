// SPDX-License-Identifier: BSD-3-Clause
// One end of a reliable connection of bare verbs, made with rdma_cm: messages into receive slots, RDMA read and write,
// one completion queue. Throws std::runtime_error if anything fails. One thread.
#pragma once

#include "tcp_pair.hpp"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cinnabar::bench {

struct VerbsShape {
    std::size_t message_bytes = 64;  // at most
    std::uint32_t depth = 16;        // receive slots, and sends in flight
};

struct DestroyId {
    void operator()(rdma_cm_id* id) const noexcept { rdma_destroy_id(id); }
};
using VerbsId = std::unique_ptr<rdma_cm_id, DestroyId>;

// Listens at that address, on any free port.
class VerbsListener {
  public:
    explicit VerbsListener(const std::string& host);
    [[nodiscard]] std::uint16_t port() const noexcept;
    // Blocks until there is an incoming connection.
    [[nodiscard]] VerbsId accept() const;

  private:
    VerbsId id_;
};

// Memory of the other end.
struct RemoteBlock {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
};

class VerbsEnd {
  public:
    VerbsEnd(const VerbsListener& listener, const VerbsShape& shape);
    VerbsEnd(const std::string& host, std::uint16_t port, const VerbsShape& shape);
    ~VerbsEnd();
    VerbsEnd(const VerbsEnd&) = delete;
    VerbsEnd& operator=(const VerbsEnd&) = delete;

    // Registers memory while this object exists.
    [[nodiscard]] const ibv_mr& pin(void* memory, std::size_t bytes, int access);

    // Copies the message, and sends it inline if the device takes that much.
    void send(std::span<const std::byte> message);
    template <typename T>
    void send_value(const T& value) {
        send({reinterpret_cast<const std::byte*>(&value), sizeof value});
    }
    // The other end gets a `notified` event with that value.
    void write_and_notify(const ibv_mr& local, const std::byte* from, std::size_t bytes, RemoteBlock to,
                          std::uint32_t value);
    void read(const ibv_mr& local, std::byte* to, std::size_t bytes, RemoteBlock from);

    enum class What : std::uint8_t { nothing, received, notified, moved };  // moved: a write or a read of this end
    struct Event {
        What what = What::nothing;
        std::uint32_t value = 0;             // of a notification
        std::span<const std::byte> message;  // valid until the next call
        template <typename T>
        [[nodiscard]] const T& as() const {
            return *reinterpret_cast<const T*>(message.data());
        }
    };
    // `nothing` only if it does not block.
    [[nodiscard]] Event next(Wait wait);

  private:
    void make(const VerbsShape& shape);
    void receive_into(std::size_t slot);
    void post(ibv_send_wr& request);
    [[nodiscard]] bool poll(ibv_wc& done);
    void wait_for_event();

    VerbsShape shape_;
    VerbsId id_;
    ibv_pd* domain_ = nullptr;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    std::vector<ibv_mr*> pinned_;
    std::vector<std::byte> slots_;  // `depth` slots to receive into, then `depth` slots to send from
    const ibv_mr* slots_key_ = nullptr;
    std::uint32_t inline_bytes_ = 0;
    std::uint32_t posted_ = 0;  // sends since the beginning
    std::uint32_t ended_ = 0;   // of these
    std::size_t slot_in_use_ = no_slot;
    static constexpr std::size_t no_slot = ~std::size_t{0};
};

}  // namespace cinnabar::bench
