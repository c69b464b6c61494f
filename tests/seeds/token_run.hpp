// SPDX-License-Identifier: BSD-3-Clause
// One run of nodes on the simulated network, all from one seed: they share memory, renew and withdraw what they share,
// and access each other's memory by tokens and plans, while processes are killed and connections break.
//
// What is checked:
// - Bytes that were read are those of the version that the token names. A token that was stale when its operation
//   began is never accepted, and one that is valid to the end is never refused as stale.
// - An atomic counts once if its result says so, and at most once otherwise.
// - A plan moves the blocks that it was posted with, and no others.
// - A write that succeeded is in place, and its owner was told once; what follows a fence comes after what precedes it.
// - No byte of local memory changes after its operation has ended.
// - Each operation ends once, in time, and with a result that is possible.
#pragma once

#include "climate.hpp"
#include "token_memory.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_blocks.hpp>
#include <cinnabar/hl/remote_many.hpp>
#include <cinnabar/hl/remote_writes.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::seeds {

using TokenSpan = hl::RemoteSpan<Word>;

// What a broken product would do. A run with one of these must find it.
enum class Broken : std::uint8_t {
    nothing,
    old_tokens_stay,  // the contents change, but older tokens are still accepted
    counts_twice,     // an addition is done again after its result
    other_blocks,     // a plan moves blocks that it was not posted with
    late_byte,        // local memory is written to after the end of its operation
    no_end,           // an operation never ends
    tells_twice,      // the owner is told twice of a write
};

class TokenRun {
  public:
    TokenRun(std::uint64_t seed, sim::Profile profile, Broken broken = Broken::nothing);
    ~TokenRun();
    TokenRun(const TokenRun&) = delete;
    TokenRun& operator=(const TokenRun&) = delete;

    void go();
    // Empty: nothing is wrong.
    [[nodiscard]] const std::string& findings() const noexcept { return findings_.text(); }
    [[nodiscard]] std::string describe() const { return climate_.describe(); }

    struct Outcome {
        std::uint64_t trace = 0;   // of the simulated world
        std::uint64_t digest = 0;  // of all ends
        std::uint64_t operations = 0;
        std::uint64_t succeeded = 0;
        std::uint64_t stale = 0;
        [[nodiscard]] bool same(const Outcome& other) const noexcept {
            return trace == other.trace && digest == other.digest;
        }
    };
    [[nodiscard]] Outcome outcome() const;

  private:
    struct Plan;
    struct Token {
        Owned* owned = nullptr;
        Word version = 0;  // 0: any
        std::size_t owner = 0;
        TokenSpan span;
    };
    struct Host {
        std::size_t index = 0;
        std::string name;
        bool listens = false;
        bool ending = false;
        unsigned life = 0;
        std::unique_ptr<Node> node;
        std::vector<Owned*> owned;  // by Owned::Use; empty if it does not listen
        std::vector<Token> tokens;
        std::vector<Plan*> plans;
    };
    struct Stamped {
        std::size_t block;
        Word stamp;
    };
    // One operation. It does not move until the run is over.
    struct Op {
        std::uint64_t id = 0;
        std::string_view what;
        Host* from = nullptr;
        unsigned life = 0;
        std::vector<Token> names;
        bool were_stale = false;
        Microseconds span{0};          // until its deadline
        TimeUs deadline = time_never;  // of its first call
        TimeUs last = time_never;      // of all of them
        unsigned endings = 0;
        bool canceled = false;
        std::stop_source stop;
        std::stop_token token;
        Words memory;  // the local one, with words before and behind that nobody may change
        bulk::Region region;
        bool ended = false;  // nobody accesses the local memory any more
        std::optional<hl::RemoteWrites> writes;
        bool checked = false;  // chunk by chunk
        std::optional<std::uint32_t> notify;
        unsigned notices = 0;
        Owned* board = nullptr;
        std::vector<Stamped> stamped;
    };
    // A plan, its local memory, and what that must contain between two posts.
    struct Plan {
        Token token;
        std::size_t block_words = 0;
        std::size_t there = 0;  // blocks
        std::size_t here = 0;
        Words memory;  // with words around it, as in Op
        Words expected;
        bulk::Region region;
        std::optional<hl::TransferPlan> plan;
        bool in_flight = false;
        bool given_up = false;  // a peer may still access the memory
    };
    struct Lists {
        std::vector<std::uint32_t> there;
        std::vector<std::uint32_t> here;
        std::optional<bulk::Blocks> strided_there;  // the same lists, if they are strided
        std::optional<bulk::Blocks> strided_here;
    };
    static constexpr std::size_t border_words = 4;
    static constexpr Word border_word = 0xa7a7a7a7a7a7a7a7;

    // --- token_run.cpp: processes, time and faults
    void start(Host& host);
    void kill(Host& host);
    void share(Host& host, Owned::Use use);
    void renew(Host& host);
    void withdraw(Host& host);
    void look_at_withdrawn();
    void act();
    void use_memory(Host& host);
    void fault();
    void run_for(TimeUs span);
    [[nodiscard]] TimeUs pause();
    [[nodiscard]] Host& any_host() { return *hosts_[random_.below(hosts_.size())]; }
    [[nodiscard]] TimeUs now() const noexcept { return world_->now_us(); }
    void calm_down();
    void check_all();
    void close();
    void note(std::uint64_t what) noexcept { digest_ = (digest_ ^ what) * 0x100000001b3u; }

    // --- token_ends.cpp: how operations begin and end
    [[nodiscard]] Token any_token(Host& from, Owned::Use use);
    // Whether the owner must refuse it, or must not refuse it as stale. While a withdrawal begins, neither.
    [[nodiscard]] static bool is_stale(const Token& token) noexcept;
    [[nodiscard]] static bool is_current(const Token& token) noexcept;
    [[nodiscard]] Op& begin(Host& from, std::string_view what, std::vector<Token> names, std::size_t local_words);
    [[nodiscard]] static hl::RemoteOptions options_of(const Op& op) noexcept;
    [[nodiscard]] static std::span<Word> inner(Words& memory) noexcept {
        return std::span(memory).subspan(border_words, memory.size() - 2 * border_words);
    }
    [[nodiscard]] static bool borders_hold(const Words& memory) noexcept;
    // False: the end is lost, as a broken product would do.
    [[nodiscard]] bool ended(Op& op, Errc result);
    [[nodiscard]] bool is_possible(const Op& op, Errc result) const;
    void bury(Op& op);
    void find(const Op& op, std::string_view what);
    void expect(bool right, const Op& op, std::string_view what) {
        if (!right) find(op, what);
    }
    void cancel_one();
    void will_notify(Op& op);
    void may_check(Op& op) { op.checked = random_.chance(5); }
    void noticed(Owned& owned, std::uint32_t value);
    // Whether the run breaks the product here, which it does once.
    [[nodiscard]] bool breaks(Broken what) noexcept { return broken_ == what && !std::exchange(has_broken_, true); }
    // Sends the operation; then(result) looks at its result.
    template <typename Remote, typename Then>
    void post(Op& op, Remote remote, Then then) {
        remote.then([this, &op, then = std::move(then)](const auto& result) {
            if (!ended(op, result.code())) return;
            then(result);
            bury(op);
        });
    }

    // --- token_ops.cpp
    void read(Host& from);
    void read_several(Host& from);
    void write(Host& from);
    void read_blocks(Host& from);
    void write_blocks(Host& from);
    [[nodiscard]] std::optional<Token> free_board(Host& from);
    void stamp(Op& op, const Token& board, const std::vector<std::size_t>& blocks);
    void end_stamps(Op& op, bool succeeded);
    void write_stamps(Host& from);
    void write_fenced(Host& from);
    void count(Host& from);
    void swap(Host& from);

    // --- token_plans.cpp
    void make_plan(Host& from);
    void give_up_plan(Host& from, Plan& plan);
    void post_plan(Host& from);
    [[nodiscard]] Lists any_lists(const Plan& plan, bool writes);
    [[nodiscard]] std::vector<std::uint32_t> some_of(std::size_t all, std::size_t wanted);
    void post_read(Host& from, Plan& plan, const Lists& lists);
    void post_write(Host& from, Plan& plan, const Lists& lists);
    void check_between_posts(const Op* op, Plan& plan);
    void end_post(Op& op, Plan& plan, const std::vector<std::uint32_t>& changed);

    const Climate climate_;
    const Broken broken_;
    bool has_broken_ = false;
    Random random_;
    const std::string query_;  // of addresses
    std::shared_ptr<sim::World> world_;
    std::unique_ptr<Node> clock_;  // drives the others
    std::deque<Owned> owned_;      // all that was ever shared
    std::vector<Owned*> withdrawn_;
    std::deque<Plan> plans_;
    std::deque<Op> ops_;
    std::vector<Op*> live_;
    std::map<std::uint32_t, Op*> notified_;  // by the number that the owner is told
    std::vector<std::unique_ptr<Host>> hosts_;
    std::size_t owners_ = 1;
    Word versions_ = 0;  // given so far, like the stamps
    Word stamps_ = 0;
    bool faulty_ = false;
    Findings findings_;
    std::uint64_t digest_ = 0xcbf29ce484222325u;
    std::uint64_t succeeded_ = 0;
    std::uint64_t stale_ = 0;
};

}  // namespace cinnabar::seeds
