// SPDX-License-Identifier: BSD-3-Clause
#include "caller_core.hpp"
#include "loop.hpp"
#include "node_core.hpp"

#include <cinnabar/hl/attempts.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace cinnabar::hl::detail {
namespace {

constexpr Microseconds told_max{60'000'000};  // longest pause that a target may ask for
constexpr std::size_t attempts_told = 16;     // attempts listed in an error

std::string milliseconds(TimeUs us) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.4g ms", static_cast<double>(us) / 1e3);
    return text.data();
}

}  // namespace

Attempts::Attempts(const CallerRef& caller, const RpcName& name, std::uint16_t shape, const na::Addr& to,
                   const CallOptions& options)
    : caller_(caller), name_(name), shape_(shape), to_(to), options_(options), span_(options.deadline) {
    if (options.trace) trace_ = *options.trace;
    const Microseconds longest = caller.core->retry.attempt_max;
    options_.deadline = longest.count() > 0 ? longest : no_deadline;
    options_.stop = nullptr;
    options_.trace = nullptr;
}

NodeCore& Attempts::node() const noexcept { return caller_.core->node; }

TaskContext Attempts::begin(const TaskContext* outer) {
    Loop& loop = node().pick_loop(options_.context, to_);
    TaskContext inner = outer ? *outer : TaskContext{};
    if (!inner.executor) inner.executor = &loop;
    clock_ = &loop.clock();
    const bool in_task = outer && outer->deadline != time_never;
    const Microseconds span = span_.value_or(in_task ? no_deadline : default_deadline);
    deadline_ = inner.deadline_on(*clock_);
    if (span != no_deadline) deadline_ = std::min(deadline_, after(now_us(), span));
    inner.deadline = deadline_;
    inner.simulated = nullptr;
    return inner;
}

bool Attempts::has_quota() const noexcept { return caller_.core->quota.limits(); }

bool Attempts::enters_at_once(std::uint64_t bytes) {
    if (!caller_.core->quota.enters_at_once({to_, bytes, caller_.priority})) return false;
    let_go_bytes_ = bytes;
    return true;
}

Task<Errc> Attempts::enter(std::uint64_t bytes) {
    Task<Errc> wait = caller_.core->quota.enter(node().ref(), {to_, bytes, caller_.priority});
    const Errc entered = co_await wait;
    if (entered == Errc::ok) let_go_bytes_ = bytes;
    co_return entered;
}

void Attempts::starts() {
    began_us_ = now_us();
    caller_.core->attempts.fetch_add(1, std::memory_order_relaxed);
}

void Attempts::ended() noexcept {
    if (!let_go_bytes_) return;
    caller_.core->quota.leave({to_, *std::exchange(let_go_bytes_, {}), caller_.priority});
}

void Attempts::succeeded() {
    ended();
    caller_.core->calls.fetch_add(1, std::memory_order_relaxed);
    caller_.core->budget.earn(to_);
}

std::optional<Microseconds> Attempts::no_more(std::string_view why) noexcept {
    why_no_more_ = why;
    return {};
}

std::optional<Microseconds> Attempts::unless_late(Microseconds pause) noexcept {
    if (deadline_ == time_never || after(now_us(), pause) < deadline_) return pause;
    return no_more("the next one would start after the deadline");
}

// Half of the pause is random, so that calls that failed together are not retried together.
Microseconds Attempts::back_off() const noexcept {
    const RetryPolicy& retry = caller_.core->retry;
    const std::uint32_t doublings = std::min(counted_ - 1, 30u);
    const Microseconds most = std::max(retry.pause_max, Microseconds(0));
    const Microseconds first = std::clamp(retry.pause, Microseconds(0), most);
    const auto whole = std::min<std::uint64_t>(static_cast<std::uint64_t>(first.count()) << doublings,
                                               static_cast<std::uint64_t>(most.count()));
    return Microseconds(whole - whole / 2 + caller_.core->chance_below(whole / 2 + 1));
}

std::optional<Microseconds> Attempts::after_failure(const Error& error, const CallEnd& end) {
    ended();
    CallerCore& core = *caller_.core;
    failed_.push_back({error.code, end.phase, end.was_sent, std::max(now_us(), began_us_) - began_us_});
    place_ = end.place;
    if (!core.retry.codes.has(error.code)) {
        if (error.code != Errc::canceled && error.code != Errc::closed) core.budget.earn(to_);
        return no_more({});
    }
    if (failed_.size() >= CallerCore::attempts_max) return no_more("there were too many");
    if (end.come_again) {
        const auto told = static_cast<std::uint64_t>(std::min(*end.come_again, told_max).count());
        return unless_late(Microseconds(std::max<std::uint64_t>(told + core.chance_below(told / 8 + 1), 1)));
    }
    if (!end.was_sent && error.code == Errc::peer_lost && !at_once_) {
        at_once_ = true;
        return unless_late(Microseconds(0));
    }
    ++counted_;
    const bool affordable = core.budget.spend(to_);
    if (core.retry.attempts == 1) return no_more({});
    if (end.was_sent && !name_.idempotent)
        return no_more("it may have been done already, and the RPC is not declared idempotent");
    if (counted_ >= core.retry.attempts) return no_more("RetryPolicy::attempts allows no more");
    if (!affordable) {
        core.out_of_budget.fetch_add(1, std::memory_order_relaxed);
        return no_more("the retry budget is used up, because too many recent attempts failed");
    }
    return unless_late(back_off());
}

// For example "; 2 attempts: peer lost, sending, 3.1 ms; refused, not sent, 0.2 ms; no more: ..."
std::string Attempts::text(std::string_view why) const {
    if (failed_.size() == 1 && why.empty()) return {};
    std::string text = "; " + std::to_string(failed_.size()) + (failed_.size() == 1 ? " attempt: " : " attempts: ");
    const std::size_t left_out = failed_.size() - std::min(failed_.size(), attempts_told);
    if (left_out != 0) text += std::to_string(left_out) + " more before; ";
    for (std::size_t i = left_out; i < failed_.size(); ++i) {
        const Attempt& each = failed_[i];
        if (i != left_out) text += "; ";
        text.append(to_string(each.code)).append(", ");
        const bool answered = each.code == Errc::overloaded && each.phase == rpc::CallPhase::sent;
        if (each.phase != rpc::CallPhase::unknown && !answered)
            text.append(to_string(each.phase));
        else
            text.append(each.was_sent ? "sent" : "not sent");
        text.append(", ").append(milliseconds(each.took_us));
    }
    if (!why.empty()) text.append("; no more: ").append(why);
    return text;
}

Error Attempts::failure(Error last, std::string_view why) const {
    caller_.core->calls.fetch_add(1, std::memory_order_relaxed);
    caller_.core->failed.fetch_add(1, std::memory_order_relaxed);
    if (last.code != Errc::application) last.subject += text(why);
    return last;
}

Error Attempts::stopped(Errc why, Error last) const {
    last.code = why == Errc::closed ? Errc::canceled : why;
    last.app_code = 0;
    last.hint = advice(last.code);
    return failure(std::move(last), "it was stopped before the next one");
}

Error Attempts::not_let_go(Errc why) const {
    Error error(why, advice(why), std::string(name_.text) + " at " + (to_.empty() ? "no address" : to_.to_string()));
    if (why == Errc::overloaded)
        error.hint =
            "as many calls of this Caller wait as QuotaOptions::waiting_max allows: let some end first, or raise it";
    if (why == Errc::timed_out) error.subject += ": waited for calls before it to end (QuotaOptions)";
    if (failed_.empty()) {
        caller_.core->calls.fetch_add(1, std::memory_order_relaxed);
        caller_.core->failed.fetch_add(1, std::memory_order_relaxed);
        return error;
    }
    return failure(std::move(error));
}

}  // namespace cinnabar::hl::detail
