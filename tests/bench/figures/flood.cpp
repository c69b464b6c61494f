// SPDX-License-Identifier: BSD-3-Clause
// A server under four times its capacity, from one generator that does not wait for answers.
#include "../harness/process_status.hpp"
#include "../ours/slow_server.hpp"
#include "figures.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr std::size_t connections = 64;
constexpr Microseconds no_wait{0};
constexpr Microseconds reply_wanted_in{20'000};
constexpr double overload = 4;

class Generator {
  public:
    explicit Generator(const std::string& address) : server_(na::Addr::parse(address).value()) {
        rpc::Options small;
        small.calls_max = 4096;
        small.requests_held_max = 16;
        for (std::size_t i = 0; i < connections; ++i) clients_.push_back(std::make_unique<RpcEndpoint>(false, small));
        for (const auto& client : clients_) offer(*client);
        settle();
        wanted_in_ = reply_wanted_in;
        if (replies_ != connections) throw std::runtime_error{"a connection does not answer"};
    }

    // Replies per second with one call in flight per connection.
    double capacity(double seconds) {
        reset();
        again_ = true;
        const auto begin = seconds_now();
        for (const auto& client : clients_) offer(*client);
        while (seconds_now() < begin + seconds) look();
        const auto rate = static_cast<double>(replies_) / (seconds_now() - begin);
        again_ = false;
        settle();
        return rate;
    }

    // Offers `rate` calls per second for `seconds` seconds. Returns the timely replies per second.
    double flood(double rate, double seconds) {
        reset();
        const auto begin = seconds_now();
        std::size_t turn = 0;
        for (auto now = begin; now < begin + seconds; now = seconds_now()) {
            const auto due = static_cast<std::uint64_t>((now - begin) * rate);
            for (; offered_ < due; ++turn) offer(*clients_[turn % connections]);
            look();
        }
        const auto elapsed = seconds_now() - begin;
        const auto goodput = static_cast<double>(replies_) / elapsed;
        offered_rate_ = static_cast<double>(offered_) / elapsed;
        settle();
        return goodput;
    }

    [[nodiscard]] double offered_rate() const noexcept { return offered_rate_; }
    // The share of the offered calls; the others were refused or answered.
    [[nodiscard]] double timed_out_share() const noexcept {
        return static_cast<double>(timed_out_) / static_cast<double>(offered_);
    }
    [[nodiscard]] std::uint64_t without_outcome() const noexcept { return offered_ - ended_; }

  private:
    void reset() noexcept { offered_ = ended_ = replies_ = timed_out_ = 0; }

    void offer(RpcEndpoint& client) {
        ++offered_;
        Errc why = Errc::ok;
        auto* call = client.context().make_call(server_, why);
        if (call == nullptr) {
            ++ended_;  // refused at once
            return;
        }
        call->args.rpc = slow_id;
        call->args.deadline = client.context().deadline_in(wanted_in_);
        client.context().user_data = &client;
        if (call->forward(0, &done, this) == Errc::ok) return;
        ++ended_;
        call->release();
    }
    static void done(rpc::Call& call, void* user) noexcept {
        auto& self = *static_cast<Generator*>(user);
        ++self.ended_;
        if (call.result() == Errc::ok) ++self.replies_;
        if (call.result() == Errc::timed_out) ++self.timed_out_;
        auto& client = *static_cast<RpcEndpoint*>(call.context().user_data);
        call.release();
        if (self.again_) self.offer(client);
    }
    void look() {
        for (const auto& client : clients_) {
            client->context().progress(no_wait);
            client->context().trigger(256);
        }
    }
    // Waits until every call has ended, at most 5 s.
    void settle() {
        const auto end = seconds_now() + 5;
        while (ended_ < offered_ && seconds_now() < end) look();
    }

    na::Addr server_;
    std::vector<std::unique_ptr<RpcEndpoint>> clients_;
    std::uint64_t offered_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t replies_ = 0;
    std::uint64_t timed_out_ = 0;
    double offered_rate_ = 0;
    bool again_ = false;
    Microseconds wanted_in_{5'000'000};  // until all clients are connected
};

std::vector<Row> run_flood(const Settings& settings) {
    Partner partner{settings.cores.server, serve_slowly};
    partner.begin_slice();
    Generator generator{partner.announced()};
    const auto idle = status_of(partner.pid());
    const auto capacity = generator.capacity(settings.quick ? 1 : 5);
    const auto goodput = generator.flood(overload * capacity, settings.quick ? 2 : 10);
    const auto flooded = status_of(partner.pid());

    const auto grown = flooded.resident_bytes_max - std::min(flooded.resident_bytes_max, idle.resident_bytes);
    Row good;
    good.name = "flood.goodput";
    good.value = goodput / 1000;
    good.unit = "kcalls/s";
    good.limit_name = "at capacity";
    good.limit = capacity / 1000;
    const auto ratio = goodput / capacity;
    good.ratio = Interval{ratio, ratio, ratio};
    good.bar = Bar{Sense::at_least, 0.95};
    good.verdict = judge(*good.ratio, *good.bar);
    char offered[96];
    std::snprintf(offered, sizeof offered, "offered %.1f x capacity, %.0f %% timed out",
                  generator.offered_rate() / capacity, 100 * generator.timed_out_share());
    good.remark = offered;
    return {count_row("flood.memory", static_cast<double>(grown) / (1 << 20), "MiB", 64), good,
            count_row("flood.lost", static_cast<double>(generator.without_outcome()), "calls", 0)};
}

}  // namespace

std::vector<Figure> flood_figures() { return {{"flood", run_flood}}; }

}  // namespace cinnabar::bench
