// SPDX-License-Identifier: BSD-3-Clause
// The mailbox of a context: other contexts of this process put items into it, in chains, and the context takes them
// out. Any thread may put; only the owner of the context takes. Ports connected to this one share ownership of the
// mailbox, so the mailbox still exists if this port closes while other ports post.
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

enum class ItemKind : std::uint8_t { unexpected, expected, notify, connect, disconnect };

// A message, a notification, or a connect or disconnect. Items for connect and disconnect are allocated one by one
// (`control`). All other items come from the mailbox's pool and are its receive slots. The buffer of a slot is
// allocated when the slot is first used, and then kept.
struct MailboxItem : PoolSlot,
                     WorkItem {   // the WorkItem is never run: it links the first item of each chain into the queue
    MailboxItem* rest = nullptr;  // the next item of the chain
    ItemKind kind = ItemKind::unexpected;
    bool control = false;
    na::ContextId source = 0;
    std::uint32_t bytes = 0;
    na::Incarnation network = 0;  // the incarnation of the source's transport
    std::uint64_t connection = 0;
    na::Tag tag = 0;  // of a message; or the value of a notification
    std::unique_ptr<std::byte[]> buffer;
    std::shared_ptr<Mailbox> from;  // only for connect: the dialler's mailbox
};

// Shared by the mailboxes of one transport.
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
          items_(ThreadUse::many, receive_slots),
          message_bytes_max_(message_bytes_max),
          context_(host.context_id()),
          initial_credits_(host.initial_credits()),
          host_(host) {}
    ~Mailbox();

    [[nodiscard]] Network& network() const noexcept { return *network_; }
    [[nodiscard]] na::ContextId context() const noexcept { return context_; }
    [[nodiscard]] std::size_t message_bytes_max() const noexcept { return message_bytes_max_; }
    [[nodiscard]] std::uint32_t initial_credits() const noexcept { return initial_credits_; }

    // Null: all receive slots are taken, or out of memory. Any thread.
    [[nodiscard]] MailboxItem* take(ItemKind kind) noexcept {
        MailboxItem* item = items_.acquire();
        if (!item) return nullptr;
        item->kind = kind;
        return item->buffer || kind == ItemKind::notify ? item : with_buffer(*item);
    }
    // Frees an item that was delivered, or that will not be delivered. Any thread.
    void give_back(MailboxItem& item) noexcept {
        if (item.control) return free_control(item);
        items_.release(item);
    }
    // Whether the mailbox no longer takes items. Any thread; a snapshot.
    [[nodiscard]] bool closed() const noexcept { return (visits_.load(std::memory_order_relaxed) & closed_bit) != 0; }

    // Held by a thread that posts, so that the owner cannot close the mailbox meanwhile. Any thread.
    class Visit;

    // Closes the mailbox: waits for visits in progress; later visits fail. Other threads may still hold references to
    // the mailbox. Owner of the context only.
    void close() noexcept;
    void stop_accepting() noexcept { accepting_.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool accepting() const noexcept { return accepting_.load(std::memory_order_relaxed); }

    // Owner of the context only.
    [[nodiscard]] WorkQueue take_all() noexcept { return inbox_.take_all(); }
    [[nodiscard]] bool empty() const noexcept { return inbox_.empty(); }

  private:
    [[nodiscard, gnu::cold, gnu::noinline]] MailboxItem* with_buffer(MailboxItem& item) noexcept;
    [[gnu::cold, gnu::noinline]] static void free_control(MailboxItem& item) noexcept;
    static constexpr std::uint32_t closed_bit = 0x8000'0000;
    const std::shared_ptr<Network> network_;
    SlotPool<MailboxItem> items_;
    SubmitQueue inbox_;
    std::atomic<std::uint32_t> visits_{0};  // closed_bit | the number of visits
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
    // Posts the item and the rest of its chain.
    void push(MailboxItem& item) noexcept;

  private:
    Mailbox& mailbox_;
    bool ok_;
};

// Chains of items that were taken from a mailbox and are delivered one by one. Owner of the context only.
class ItemQueue {
  public:
    [[nodiscard]] bool empty() const noexcept { return !chain_ && chains_.empty(); }
    void take_all(Mailbox& mailbox) noexcept {
        if (mailbox.empty()) return;
        WorkQueue taken = mailbox.take_all();
        chains_.splice_back(taken);
    }
    // Null: there is none.
    [[nodiscard]] MailboxItem* next() noexcept {
        MailboxItem* item = chain_;
        if (!item) item = static_cast<MailboxItem*>(chains_.pop_front());
        if (item) chain_ = std::exchange(item->rest, nullptr);
        return item;
    }

  private:
    WorkQueue chains_;
    MailboxItem* chain_ = nullptr;  // the rest of the chain that is being delivered
};

}  // namespace cinnabar::self_
