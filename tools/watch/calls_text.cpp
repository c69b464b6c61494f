// SPDX-License-Identifier: BSD-3-Clause
#include "watch/calls_text.hpp"

#include "terminal/json.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cinnabar::tools::watch {
namespace {

using rpc::CallPhase;

std::string_view cause_of(CallPhase phase) {
    switch (phase) {
        case CallPhase::connecting:
            return "the peer does not answer the dial";
        case CallPhase::waits_for_credit:
            return "the peer accepts no more requests of this node";
        case CallPhase::waits_for_reply_slot:
            return "all of this node's slots for answers are in use";
        case CallPhase::waits_for_room:
        case CallPhase::sending:
            return "the peer reads more slowly than this side sends";
        case CallPhase::sent:
            return "see the calls of the peer";
        case CallPhase::fetching:
            return "a large argument or result is in transit";
        case CallPhase::waits_for_handler:
            return "the thread of this context is busy";
        case CallPhase::in_handler:
            return "its handler, or the queue of its pool, has it";
        case CallPhase::answered:
            return "the peer does not take the answer";
        case CallPhase::unknown:
            break;
    }
    return "";
}

std::string age_text(std::uint64_t us) {
    const std::chrono::duration<double> span(static_cast<double>(us) / 1e6);
    return us < 1'000'000 ? human_latency(span) : human_duration(span);
}

std::vector<look::CallReport> chosen(const State& state, Microseconds age_min) {
    std::vector<look::CallReport> calls;
    for (const auto& call : state.calls) {
        if (age_min.count() == 0 || call.age_us >= static_cast<std::uint64_t>(age_min.count())) calls.push_back(call);
    }
    sort_by_age(calls);
    return calls;
}

std::string json_of(const look::CallReport& call) {
    JsonObject object;
    object.text("side", call.as_target ? "target" : "origin").name("rpc", call.rpc);
    object.number("provider", std::uint64_t{call.provider}).name("peer", call.peer).text("transport", call.scheme);
    object.number("context", std::uint64_t{call.context}).text("phase", to_string(phase_of(call)));
    object.text("reason", reason_of(call));
    if (call.age_us != 0) object.number("age_us", call.age_us);
    if (call.left_us != time_never) object.number("left_us", call.left_us);
    object.number("bytes", call.bytes).number("ahead", std::uint64_t{call.ahead});
    return object.line();
}

}  // namespace

CallPhase phase_of(const look::CallReport& call) {
    return call.phase < rpc::call_phases ? static_cast<CallPhase>(call.phase) : CallPhase::unknown;
}

std::string reason_of(const look::CallReport& call) {
    const CallPhase phase = phase_of(call);
    std::string text(to_string(phase));
    if (const auto cause = cause_of(phase); !cause.empty()) text.append(": ").append(cause);
    const bool queued = phase == CallPhase::waits_for_credit || phase == CallPhase::waits_for_room ||
                        phase == CallPhase::waits_for_reply_slot;
    if (queued && call.ahead != 0) text += fmt::format("; {} ahead of it", call.ahead);
    return text;
}

void sort_by_age(std::vector<look::CallReport>& calls) {
    std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.age_us > b.age_us; });
}

std::string calls_text(const State& state, Microseconds age_min) {
    const auto calls = chosen(state, age_min);
    if (calls.empty()) return "nothing is under way\n";
    std::string text =
        fmt::format("{:>9}  {:>9}  {:4}  {:24}  {:30}  {}\n", "age", "left", "side", "rpc", "peer", "why");
    for (const auto& call : calls) {
        text += fmt::format("{:>9}  {:>9}  {:4}  {:24}  {:30}  {}\n", call.age_us == 0 ? "-" : age_text(call.age_us),
                            call.left_us == time_never ? "-" : age_text(call.left_us), call.as_target ? "in" : "out",
                            printable(call.rpc), printable(call.peer), reason_of(call));
    }
    if (state.cut) text += "and more that are not shown\n";
    return text;
}

std::string calls_json(const State& state, Microseconds age_min) {
    std::string list = "[";
    for (const auto& call : chosen(state, age_min)) list.append(list.size() > 1 ? ", " : "").append(json_of(call));
    JsonObject object;
    object.number("process", static_cast<std::uint64_t>(state.node.process)).raw("calls", list + "]");
    return object.flag("cut", state.cut).line() + "\n";
}

}  // namespace cinnabar::tools::watch
