// SPDX-License-Identifier: BSD-3-Clause
#include "watch/command.hpp"

#include "commands/reach.hpp"
#include "security/command.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"
#include "watch/calls_text.hpp"
#include "watch/keyboard.hpp"
#include "watch/prometheus.hpp"
#include "watch/screen.hpp"
#include "watch/state_json.hpp"

#include <cinnabar/base/printable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools::watch {
namespace {

constexpr Microseconds answer_max{5'000'000};

ExitCode failed(const std::string& to, const Error& error) {
    complain(to + ": " + error.message());
    return exit_code(error.code);
}

void print(const std::string& text) { print_line(text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0))); }

// Handles a key that changes the view. False: quit.
bool press(char key, View& view) {
    switch (key) {
        case 'r':
            view.tab = Tab::rpcs;
            break;
        case 'p':
            view.tab = Tab::peers;
            break;
        case 'c':
            view.tab = Tab::calls;
            break;
        case 'w':
            view.tab = Tab::time;
            break;
        case 't':
            view.tab = Tab::pools;
            break;
        case 'm':
            view.tab = Tab::memory;
            break;
        case 'l':
            view.tab = Tab::log;
            break;
        case 's':
            view.order = static_cast<Order>((static_cast<unsigned>(view.order) + 1) % 4);
            break;
        default:
            break;
    }
    return key != 'q' && key != '\x1b';
}

// A query on a thread of its own, so that keys and signals are noticed meanwhile.
class Query {
  public:
    Query(const hl::Connected& node, const Wanted& wanted)
        : answer_(std::async(std::launch::async, [&node, wanted] { return ask(node, wanted, answer_max); })) {}
    [[nodiscard]] bool answered_within(std::chrono::milliseconds span) const {
        return answer_.wait_for(span) == std::future_status::ready;
    }
    // Requires: the query was answered.
    [[nodiscard]] Result<State> take() { return answer_.get(); }

  private:
    std::future<Result<State>> answer_;
};

class Top {
  public:
    Top(const TopOptions& options, const hl::Connected& node, const Interrupt& interrupt)
        : options_(options), node_(node), interrupt_(interrupt) {}

    [[nodiscard]] ExitCode run() {
        if (has_terminal() && !options_.json) terminal_.emplace();
        if (!options_.show.empty())
            view_.tab = static_cast<Tab>(std::ranges::find(tab_names, options_.show) - tab_names.begin());
        view_.trouble = "waiting for the first answer";
        do {
            if (!look()) break;
            if (!terminal_) tell();
        } while (again());
        return end();
    }

  private:
    [[nodiscard]] bool enough() const { return options_.count != 0 && taken_ >= options_.count; }
    // A terminal shows the last state for as long as the others.
    bool again() { return terminal_ ? await_next() && !enough() : !enough() && await_next(); }

    // The parts of the state that the output needs in addition to the RPCs.
    [[nodiscard]] Wanted wanted() const {
        if (options_.json) return {};
        if (!terminal_ && options_.show.empty()) return {true, false, false};
        return {true, view_.tab == Tab::peers, view_.tab == Tab::calls || view_.tab == Tab::time};
    }
    // False: quit, or there is no sense in asking again.
    bool look() {
        asked_ = view_.tab;
        Query query(node_, wanted());
        while (!query.answered_within(std::chrono::milliseconds(50))) {
            if (terminal_) show();
            if (!go_on(std::chrono::milliseconds(0))) end_at_once();
        }
        ++taken_;
        auto answer = query.take();
        if (answer) {
            take(*std::move(answer));
            return true;
        }
        return note(std::move(answer).error());
    }
    void take(State state) {
        state_ = std::move(state);
        rows_ = history_.take(state_);
        view_.trouble.clear();
        answered_ = true;
    }
    // Before the first answer the address may be wrong; later the node may come back, whatever the error.
    bool note(Error error) {
        ++failed_;
        view_.trouble = "no answer: " + printable(error.message());
        last_failure_ = std::move(error);
        const Errc code = last_failure_->code;
        return answered_ || code == Errc::timed_out || code == Errc::overloaded;
    }

    // The state, or that there is none, as lines on a pipe.
    void tell() const {
        if (options_.json) {
            print_line(view_.trouble.empty() ? state_json(state_, rows_, history_)
                                             : JsonObject().failure(*last_failure_).line());
            return;
        }
        print_line(view_.trouble.empty() ? summary(state_, rows_, history_) : view_.trouble);
        if (options_.show.empty() || !view_.trouble.empty()) return;
        for (const std::string& line : plain_lines(state_, rows_, history_, view_.tab)) print_line(line);
    }
    void show() {
        const auto size = Terminal::size();
        view_.width = size.width;
        view_.height = size.height;
        terminal_->show(draw(state_, rows_, history_, options_.to, view_));
    }
    // Waits for a key or a signal, at most for `span`. False: quit.
    bool go_on(std::chrono::milliseconds span) {
        if (!terminal_) return !interrupt_.wait_for(span);
        return press(Terminal::key(span), view_) && !interrupt_.happened();
    }
    // Waits until the next query is due. False: quit.
    bool await_next() {
        using Clock = std::chrono::steady_clock;
        const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(options_.every_seconds));
        for (;;) {
            if (terminal_) show();
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
            if (left.count() <= 0) return !interrupt_.happened();
            if (!go_on(std::min(left, std::chrono::milliseconds(200)))) return false;
            if (view_.tab != asked_) return true;  // the last query did not ask for the list of this tab
        }
    }

    ExitCode end() {
        terminal_.reset();  // the message belongs on the normal screen
        if (!last_failure_) return ExitCode::ok;
        if (taken_ > 1) complain(fmt::format("{} of {} queries had no answer; the last of these:", failed_, taken_));
        return failed(options_.to, *last_failure_);
    }
    // A query is under way, and its thread would be waited for.
    [[noreturn]] void end_at_once() { ::_exit(static_cast<int>(end())); }

    const TopOptions& options_;
    const hl::Connected& node_;
    const Interrupt& interrupt_;
    View view_;
    Tab asked_ = Tab::rpcs;  // of the last query
    History history_;
    State state_;
    std::vector<RpcRow> rows_;
    std::uint32_t taken_ = 0;
    std::uint32_t failed_ = 0;
    bool answered_ = false;
    std::optional<Error> last_failure_;
    std::optional<Terminal> terminal_;
};

}  // namespace

ExitCode run_top(const TopOptions& options) {
    const Interrupt interrupt;
    const auto node = reach(options.to, options.transport, 1, options.tls);
    if (!node) return failed(options.to, node.error());
    if (!options.prometheus) return Top(options, *node, interrupt).run();
    const auto state = ask(*node, {.histograms = true}, answer_max);
    if (!state) return failed(options.to, state.error());
    print(prometheus_text(*state));
    return ExitCode::ok;
}

ExitCode run_calls(const CallsOptions& options) {
    const Interrupt interrupt;
    const auto node = reach(options.to, options.transport, 1, options.tls);
    if (!node) return failed(options.to, node.error());
    const auto state = ask(*node, {false, false, true}, answer_max);
    if (!state) return failed(options.to, state.error());
    const Microseconds age_min{static_cast<std::int64_t>(options.older_seconds * 1e6)};
    print(options.json ? calls_json(*state, age_min) : calls_text(*state, age_min));
    return ExitCode::ok;
}

void add_introspection(CLI::App& command, hl::Introspection& to) {
    const std::map<std::string, hl::Introspection> words{{"off", hl::Introspection::off},
                                                         {"own-user", hl::Introspection::own_user},
                                                         {"anyone", hl::Introspection::anyone}};
    command
        .add_option_function<std::string>(
            "--introspection", [words, &to](const std::string& word) { to = words.at(word); },
            "Who may use cinnabar top: off, own-user (over shm) or anyone who can call")
        ->default_str("own-user")
        ->check(CLI::IsMember({"off", "own-user", "anyone"}));
}

void add_commands(CLI::App& app, std::function<ExitCode()>& run) {
    auto& top = *app.add_subcommand("top", "Show what a running node does, live");
    const auto shown = std::make_shared<TopOptions>();
    top.add_option("URI", shown->to, "tcp://HOST:PORT, shm://NAME")->required();
    top.add_option("--transport", shown->transport, "The transport to use, if the address names several");
    security::add_tls_options(top, shown->tls);
    top.add_option("-n,--every", shown->every_seconds, "Seconds between two updates")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 3600.0));
    top.add_option("-c,--count", shown->count, "Exit after asking that many times (0: never)")->capture_default_str();
    top.add_option("--show", shown->show,
                   "The view to begin with; on a pipe, its lines follow those that sum the state up")
        ->check(CLI::IsMember(std::vector<std::string>(tab_names.begin(), tab_names.end())));
    CLI::Option* const json = top.add_flag("--json", shown->json, "One line of JSON for each update, with everything");
    top.add_flag("--prometheus", shown->prometheus, "Print one state in Prometheus' text format and exit")
        ->excludes(json);
    top.callback([shown, &run] { run = [shown] { return run_top(*shown); }; });

    auto& calls =
        *app.add_subcommand("calls", "Show the calls of a running node that are in progress, and what they wait for");
    const auto listed = std::make_shared<CallsOptions>();
    calls.add_option("URI", listed->to, "tcp://HOST:PORT, shm://NAME")->required();
    calls.add_option("--transport", listed->transport, "The transport to use, if the address names several");
    security::add_tls_options(calls, listed->tls);
    calls.add_option("--older", listed->older_seconds, "Only calls older than so many seconds")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1e6));
    calls.add_flag("--json", listed->json, "As one line of JSON");
    calls.callback([listed, &run] { run = [listed] { return run_calls(*listed); }; });

#ifdef CINNABAR_HAS_HTTP
    auto& page = *app.add_subcommand(
        "page", "Serve the state of a running node as an HTML page, and its metrics for Prometheus");
    const auto served = std::make_shared<PageOptions>();
    page.add_option("URI", served->to, "The node: tcp://HOST:PORT, shm://NAME")->required();
    page.add_option("--transport", served->transport, "The transport to use, if the address names several");
    security::add_tls_options(page, served->tls);
    page.add_option("--listen", served->listen, "ADDRESS:PORT of the page; a numeric IPv4 address")
        ->capture_default_str();
    page.add_flag("--insecure", served->insecure, "Listen where other hosts can connect, and show them everything");
    page.add_option("-n,--every", served->every_seconds, "Seconds between two updates, at least")
        ->capture_default_str()
        ->check(CLI::Range(0.1, 3600.0));
    page.callback([served, &run] { run = [served] { return run_page(*served); }; });
#endif
}

}  // namespace cinnabar::tools::watch
