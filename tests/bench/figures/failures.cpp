// SPDX-License-Identifier: BSD-3-Clause
// How soon calls end that cannot be answered, because the server is killed, nothing listens at the port, or the server
// is suspended.
#include "../limits/tcp_pair.hpp"
#include "../ours/rpc_endpoint.hpp"
#include "figures.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds long_wait{5'000'000};
constexpr Microseconds call_time{30'000'000};
constexpr std::size_t payload_bytes = 64;
constexpr rpc::RpcId hold_id = rpc::rpc_id("bench.hold");

// Counts the request, and never answers it.
void hold(rpc::Request& request, void* page) noexcept {
    request.detach();
    static_cast<SharedPage*>(page)->server_work.fetch_add(1);
}

void serve(PartnerSide& side) {
    RpcEndpoint endpoint{true, rpc::Options{}};
    endpoint.serve_echo();
    rpc::Handler handler;
    handler.run = &hold;
    handler.target = std::shared_ptr<void>(&side.page(), [](void*) {});
    handler.name = "bench.hold";
    endpoint.engine().serve(hold_id, 0, handler).value();
    side.announce(endpoint.address());
    endpoint.serve_slices(side, long_wait);
}

// Calls that are never answered.
class Doomed {
  public:
    explicit Doomed(Errc expected) : expected_(expected) {}

    void start(RpcEndpoint& client, const na::Addr& server, TimeUs deadline) {
        Errc why = Errc::ok;
        auto* call = client.context().make_call(server, why);
        if (call == nullptr) throw std::runtime_error{"make_call: " + std::string{to_string(why)}};
        call->args.rpc = hold_id;
        call->args.deadline = deadline;
        std::fill_n(call->input_room().begin(), payload_bytes, std::byte{0x5a});
        if (call->forward(payload_bytes, &done, this) != Errc::ok) throw std::runtime_error{"forward"};
        ++busy_;
    }
    void wait(RpcEndpoint& client) {
        while (busy_ > 0) {
            client.context().progress(long_wait);
            client.context().trigger(1024);
        }
        if (surprise_ != Errc::ok) throw std::runtime_error{"a call ended with " + std::string{to_string(surprise_)}};
    }
    // How long after their deadlines the calls ended.
    [[nodiscard]] std::vector<double>& late_ms() noexcept { return late_ms_; }

  private:
    static void done(rpc::Call& call, void* user) noexcept {
        auto& self = *static_cast<Doomed*>(user);
        --self.busy_;
        if (call.result() != self.expected_) self.surprise_ = call.result();
        const auto late = call.context().now_us() - call.args.deadline;
        self.late_ms_.push_back(static_cast<double>(late) / 1000);
        call.release();
    }

    Errc expected_;
    Errc surprise_ = Errc::ok;
    std::size_t busy_ = 0;
    std::vector<double> late_ms_;
};

std::vector<Row> run_killed(const Settings& settings) {
    constexpr std::size_t calls = 1000;
    double worst = 0;
    for (int repeat = settings.quick ? 3 : 10; repeat > 0; --repeat) {
        Partner partner{settings.cores.server, serve};
        partner.begin_slice();
        RpcEndpoint client{false, rpc::Options{}};
        const auto server = na::Addr::parse(partner.announced()).value();
        client.call_once(server, payload_bytes);
        Doomed doomed{Errc::peer_lost};
        for (std::size_t i = 0; i < calls; ++i) doomed.start(client, server, client.context().deadline_in(call_time));
        // The server holds as many calls as its credits allow; the others wait for credits at the client.
        const auto patience = seconds_now() + 0.2;
        while (seconds_now() < patience) client.context().progress(Microseconds{1000});
        if (partner.page().server_work.load() == 0) throw std::runtime_error{"no call has reached the server"};
        kill(partner.pid(), SIGKILL);
        const auto begin = seconds_now();
        doomed.wait(client);
        worst = std::max(worst, (seconds_now() - begin) * 1000);
    }
    return {count_row("fail.killed", worst, "ms", 100)};
}

std::vector<Row> run_refused(const Settings& settings) {
    double worst = 0;
    for (int repeat = settings.quick ? 10 : 50; repeat > 0; --repeat) {
        auto listener = listen_on_loopback();
        const auto nobody = na::Addr::parse("tcp://127.0.0.1:" + std::to_string(port_of(listener.get()))).value();
        listener.reset();
        RpcEndpoint client{false, rpc::Options{}};
        Doomed doomed{Errc::refused};
        const auto begin = seconds_now();
        doomed.start(client, nobody, client.context().deadline_in(call_time));
        doomed.wait(client);
        worst = std::max(worst, (seconds_now() - begin) * 1000);
    }
    return {count_row("fail.refused", worst, "ms", 20)};
}

std::int64_t now_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Sets as many timers directly on one timerfd, and records how late each one is noticed.
void wait_bare(const UniqueFd& timer, std::size_t count, std::int64_t after_ns, std::vector<double>& late_ms) {
    std::vector<std::int64_t> due(count);
    for (auto& each : due) each = now_ns() + after_ns;
    for (std::size_t next = 0; next < count;) {
        itimerspec at{};
        at.it_value.tv_sec = due[next] / 1'000'000'000;
        at.it_value.tv_nsec = due[next] % 1'000'000'000;
        timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &at, nullptr);
        pollfd ready{timer.get(), POLLIN, 0};
        poll(&ready, 1, -1);
        for (auto now = now_ns(); next < count && due[next] <= now; ++next, now = now_ns()) {
            late_ms.push_back(static_cast<double>(now - due[next]) / 1e6);
        }
    }
}

double percentile_99(std::vector<double>& values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 99 / 100);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

std::vector<Row> run_deadline(const Settings& settings) {
    constexpr std::size_t wave = 250;
    const std::size_t waves = settings.quick ? 10 : 40;
    constexpr Microseconds deadline{5000};
    Partner partner{settings.cores.server, serve};
    partner.begin_slice();
    RpcEndpoint client{false, rpc::Options{}};
    const auto server = na::Addr::parse(partner.announced()).value();
    client.call_once(server, payload_bytes);
    kill(partner.pid(), SIGSTOP);
    const UniqueFd timer{timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
    Doomed doomed{Errc::timed_out};
    std::vector<double> bare;
    for (std::size_t i = 0; i < waves; ++i) {
        for (std::size_t call = 0; call < wave; ++call) {
            doomed.start(client, server, client.context().deadline_in(deadline));
        }
        doomed.wait(client);
        wait_bare(timer, wave, deadline.count() * 1000, bare);
    }
    const auto ours = percentile_99(doomed.late_ms());
    const auto limit = percentile_99(bare);
    auto row = count_row("fail.deadline.error", ours - limit, "ms", 2);
    row.remark = "p99 " + std::to_string(ours) + " ms, one timerfd " + std::to_string(limit) + " ms";
    return {row};
}

}  // namespace

std::vector<Figure> failure_figures() {
    return {{"fail.killed", run_killed}, {"fail.refused", run_refused}, {"fail.deadline.error", run_deadline}};
}

}  // namespace cinnabar::bench
