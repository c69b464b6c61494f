// SPDX-License-Identifier: BSD-3-Clause
// Where a context receives from other contexts of this process. Any thread puts letters in, in chains, the owner of the
// context takes them out. Shared by the port and by the ports that are connected to it, so that it outlives a port that
// closes while others post.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/work.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/transport.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace cinnabar::self_ {

class Mailbox;

enum class LetterKind : std::uint8_t { unexpected, expected, notify, connect, disconnect };

// Letters that connect and disconnect are allocated one by one (`control`). All others are the receive slots of the
// mailbox's pool. A slot's buffer is allocated at its first use and then stays, so memory grows with the messages that
// wait at the same time.
struct Letter : PoolSlot, Work {  // a Work that is never run: the link of the queue, of the first of a chain
    Letter* rest = nullptr;       // of the chain that it came in
    LetterKind kind = LetterKind::unexpected;
    bool control = false;
    na::ContextId source = 0;
    std::uint32_t bytes = 0;
    na::Incarnation network = 0;  // of the source
    std::uint64_t connection = 0;
    na::Tag tag = 0;  // of a message; the value of a notification
    std::unique_ptr<std::byte[]> buffer;
    std::shared_ptr<Mailbox> from;  // connect only: the dialler's mailbox
};

// What the mailboxes of one transport have in common.
struct Network {
    std::string endpoint;
    na::Incarnation incarnation = 0;
    na::LeaseTable leases;
    Network(std::string named, na::Incarnation number, std::uint32_t leases_max)
        : endpoint(std::move(named)), incarnation(number), leases(leases_max) {}
};

class Mailbox {
  public:
    Mailbox(std::shared_ptr<Network> network, na::PortHost& host, std::uint32_t receive_slots,
            std::size_t message_bytes_max)
        : network_(std::move(network)),
          letters_(Threads::many, receive_slots),
          message_bytes_max_(message_bytes_max),
          context_(host.context_id()),
          initial_credits_(host.initial_credits()),
          host_(host) {}
    ~Mailbox();

    [[nodiscard]] Network& network() const noexcept { return *network_; }
    [[nodiscard]] na::ContextId context() const noexcept { return context_; }
    [[nodiscard]] std::size_t message_bytes_max() const noexcept { return message_bytes_max_; }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept { return initial_credits_; }

    // Null when all receive slots are taken or memory is short. Any thread.
    [[nodiscard]] Letter* take(LetterKind kind) noexcept {
        Letter* letter = letters_.acquire();
        if (!letter) return nullptr;
        letter->kind = kind;
        return letter->buffer || kind == LetterKind::notify ? letter : with_buffer(*letter);
    }
    // Of a letter, or of one that was taken and will not be delivered. Any thread.
    void give_back(Letter& letter) noexcept {
        if (letter.control) return free_control(letter);
        letters_.release(letter);
    }
    // Whether letters are delivered no more. Any thread; a snapshot.
    [[nodiscard]] bool closed() const noexcept { return (visits_.load(std::memory_order_relaxed) & closed_bit) != 0; }

    // For posting, any thread: a visit keeps the owner from closing the mailbox.
    class Visit;

    // Owner: waits for visits that are in progress; later ones fail. Other threads may still hold the mailbox itself.
    void close() noexcept;
    void stop_accepting() noexcept { accepting_.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool accepting() const noexcept { return accepting_.load(std::memory_order_relaxed); }

    // Owner.
    [[nodiscard]] WorkQueue take_all() noexcept { return inbox_.take_all(); }
    [[nodiscard]] bool empty() const noexcept { return inbox_.empty(); }

  private:
    [[nodiscard, gnu::cold, gnu::noinline]] Letter* with_buffer(Letter& letter) noexcept;
    [[gnu::cold, gnu::noinline]] static void free_control(Letter& letter) noexcept;
    static constexpr std::uint32_t closed_bit = 0x8000'0000;
    const std::shared_ptr<Network> network_;
    SlotPool<Letter> letters_;
    SubmitQueue inbox_;
    std::atomic<std::uint32_t> visits_{0};  // closed_bit | count
    std::atomic<bool> accepting_{true};
    const std::size_t message_bytes_max_;
    const na::ContextId context_;
    const std::uint32_t initial_credits_;
    na::PortHost& host_;  // used only during visits
};

class Mailbox::Visit {
  public:
    explicit Visit(Mailbox& mailbox) noexcept;
    ~Visit() { mailbox_.visits_.fetch_sub(1, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    // The letter and the rest of its chain.
    void push(Letter& letter) noexcept;

  private:
    Mailbox& mailbox_;
    bool ok_;
};

}  // namespace cinnabar::self_
