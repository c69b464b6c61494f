// SPDX-License-Identifier: BSD-3-Clause
// All calls of a run, each with its permitted results, and all memory that was ever lent. Each call ends once.
#pragma once

#include "lent.hpp"

#include <cinnabar/rpc/call.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace cinnabar::seeds {

class Mesh;
class Process;

enum class Kind : std::uint8_t {
    echo,     // answered at once
    hold,     // kept by the handler, and answered later or never
    relay,    // the handler makes another call first
    move,     // the handler pulls from and pushes to the lent memory
    note,     // one-way
    unknown,  // served by no process
};
[[nodiscard]] const char* name_of(Kind kind) noexcept;

// One call. It does not move until the run is over.
struct Sent {
    std::uint64_t id = 0;  // sent with the call and returned in the reply
    Kind kind = Kind::echo;
    class Ledger* ledger = nullptr;
    Process* origin = nullptr;
    unsigned life = 0;  // of the origin
    TimeUs deadline = time_never;
    rpc::Call* call = nullptr;  // null once released
    rpc::CallId call_id = 0;
    unsigned endings = 0;
    bool canceled = false;
    bool abandoned = false;  // released in flight, so it has no ending
    std::uint32_t reply_bytes = 0;
    std::vector<std::unique_ptr<Lent>> lent;
    std::function<void(Sent&, Errc)> then;  // runs in the ending
};

class Ledger {
  public:
    explicit Ledger(Mesh& mesh) : mesh_(mesh) {}

    // Adds a call that was made.
    [[nodiscard]] Sent& add(Process& origin, Kind kind, rpc::Call& call);
    // Call it when the call was forwarded.
    void sent(Sent& sent) { live_.push_back(&sent); }
    // The completion function of all calls.
    static void on_done(rpc::Call& call, void* user) noexcept;
    void abandon(Sent& sent);
    // A random call in flight. Null: there is none.
    [[nodiscard]] Sent* any_live();
    [[nodiscard]] std::size_t live() const noexcept { return live_.size(); }
    void release_one_kept();
    void release_kept();
    // Cancels a random call id of the run. If it belongs to another context, or its call has ended, nothing happens.
    void cancel_any_id(rpc::Context& context);
    void describe_live() const;

    // Call it before the context of a process is closed: releases some of its ended calls now, the others afterwards.
    void before_end(Process& process);
    void after_end(Process& process);

    // Takes memory that is no longer lent, and to which no transfer writes.
    void bury(std::unique_ptr<Lent> memory);
    void check_graves();

    void note(std::uint64_t what) noexcept { digest_ = (digest_ ^ what) * 0x100000001b3u; }
    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

    // For the report of a run.
    struct Tally {
        std::uint64_t calls = 0;
        std::uint64_t ok = 0;
        std::uint64_t bytes_moved = 0;
    };
    Tally tally;

  private:
    void end(Sent& sent, rpc::Call& call);
    void check_time(const Sent& sent) const;
    void check_result(const Sent& sent, Errc result) const;
    void check_reply(const Sent& sent, ConstBytes output);
    void check_lent(const Sent& sent, ByteReader& reader);
    void release(Sent& sent);
    [[nodiscard]] bool plausible(const Sent& sent, Errc result) const;

    Mesh& mesh_;
    std::deque<Sent> all_;
    std::vector<Sent*> live_;
    std::vector<Sent*> kept_;  // ended, not released
    std::deque<std::unique_ptr<Lent>> graves_;
    std::uint64_t grave_bytes_ = 0;
    std::uint64_t digest_ = 0xcbf29ce484222325u;
};

}  // namespace cinnabar::seeds
