// SPDX-License-Identifier: BSD-3-Clause
// The world of one seed: its processes, its clock, and the order in which processes make progress.
#pragma once

#include "calls.hpp"
#include "climate.hpp"
#include "ledger.hpp"
#include "liar.hpp"
#include "process.hpp"

#include "support/network.hpp"

#include <cinnabar/base/clock.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::seeds {

class Mesh {
  public:
    Mesh(std::uint64_t seed, sim::Profile profile);
    // Over a real network, in real time: no faults, and no seed replays exactly.
    Mesh(std::uint64_t seed, support::NetworkKind real, bool liar);
    ~Mesh();
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    [[nodiscard]] const Climate& climate() const noexcept { return climate_; }
    [[nodiscard]] Random& random() noexcept { return random_; }
    [[nodiscard]] bool is_real() const noexcept { return network_ != nullptr; }
    // Requires: not real.
    [[nodiscard]] sim::World& world() noexcept { return *world_; }
    // `claimed`: the incarnation that it claims to have; 0, and always over a real network: its own.
    [[nodiscard]] std::shared_ptr<na::Transport> open(const std::string& name, const na::TransportOptions& options,
                                                      na::Incarnation claimed = 0);
    [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
    [[nodiscard]] Calls& calls() noexcept { return calls_; }
    [[nodiscard]] std::vector<std::unique_ptr<Process>>& processes() noexcept { return processes_; }
    [[nodiscard]] Process& any_process() noexcept { return *processes_[random_.below(processes_.size())]; }
    [[nodiscard]] TimeUs now_us() const noexcept { return world_ ? world_->now_us() : steady_clock().now_us(); }

    // Lets time advance by `span`, while all processes make progress; real time by at most 20 ms.
    void run_for(TimeUs span);
    // Runs until `done()`. False: `limit` has passed first, or nothing can happen any more.
    [[nodiscard]] bool run_until(const std::function<bool()>& done, TimeUs limit);
    // Null: the seed has no liar, or the liar has left.
    [[nodiscard]] Liar* liar() noexcept { return liar_.get(); }
    void send_liar_away() noexcept { liar_.reset(); }
    // From now on no process is delayed.
    void be_prompt() noexcept { prompt_ = true; }

  private:
    Mesh(std::uint64_t seed, const Climate& climate, std::unique_ptr<support::Network> network);
    // One round of each process that is not delayed. True: something was done, or a process was delayed.
    bool round();
    [[nodiscard]] TimeUs next_us() const;
    [[nodiscard]] bool stuck() noexcept;

    const Climate climate_;
    Random random_;
    std::unique_ptr<support::Network> network_;  // null: the simulated world
    std::shared_ptr<sim::World> world_;          // null: a real network
    Ledger ledger_;
    Calls calls_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::unique_ptr<Liar> liar_;
    bool prompt_ = false;
    TimeUs rounds_at_ = 0;  // the time at which the current rounds began
    std::uint64_t rounds_ = 0;
};

}  // namespace cinnabar::seeds
