// SPDX-License-Identifier: BSD-3-Clause
// Writes a line for each file and server that a command is done with, counts failures by reason, and writes the
// summary, as text or as JSON.
#include "terminal/report.hpp"

#include "terminal/json.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

JsonObject event_of(const Report::File& file, bool ok) {
    JsonObject object;
    object.text("event", file.extraneous ? "delete" : "file").flag("ok", ok);
    if (!file.extraneous || !file.name.empty()) object.name("name", file.name);
    if (!file.extraneous || !file.path.empty()) object.name("path", file.path);
    if (file.kind == Report::Kind::folder) object.text("kind", "folder");
    if (file.kind == Report::Kind::link) object.text("kind", "link");
    if (file.servers.empty()) return object;
    std::string servers;
    for (const auto& server : file.servers) servers += (servers.empty() ? "[" : ", ") + json_string(server);
    object.raw("servers", servers + "]");
    return object;
}

constexpr std::size_t names_told_max = 8;

std::string progress_event(const ProgressFacts& facts) {
    std::string names = "[";
    for (std::size_t i = 0; i < std::min(facts.names.size(), names_told_max); ++i)
        names += (i == 0 ? "" : ", ") + json_string(facts.names[i]);
    JsonObject object;
    object.text("event", "progress").number("files", facts.files_total).number("files_done", facts.files_done);
    object.number("bytes", facts.bytes_total).number("bytes_done", facts.bytes_done);
    object.number("bytes_per_second", facts.bytes_per_second).raw("under_way", names + "]");
    return object.line();
}

std::string gave_up_event(const Endings& endings) {
    std::string list;
    for (const auto& ending : endings.kept()) {
        JsonObject object;
        object.name("server", ending.server).text("code", code_word(ending.code)).text("text", ending.text);
        list += (list.empty() ? "[" : ", ") + object.number("count", ending.count).line();
    }
    JsonObject object;
    object.text("event", "gave_up").number("sessions", endings.sessions()).raw("errors", list + "]");
    return object.line();
}

// The error without the name of the file, so that equal errors of many files count as one reason.
std::string reason_of(const Error& error) {
    Error reason = error;
    if (reason.hint != files::server_says) reason.subject.clear();
    return reason.message();
}

std::string plural(std::uint64_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace

std::string explain(const Error& error, std::string_view known) {
    Error shown = error;
    if (shown.subject == printable(known)) shown.subject.clear();
    return shown.message();
}

void complain(const std::string& text) {
    const auto line = "cinnabar: " + text + "\n";
    (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

void print_line(const std::string& text) {
    const auto line = text + "\n";  // in one write, since other threads print as well
    (void)std::fwrite(line.data(), 1, line.size(), stdout);
    (void)std::fflush(stdout);
}

Report::Report(Style style, std::string_view verb, ProgressBar& bar) : style_(style), verb_(verb), bar_(bar) {}

double Report::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

ProgressShown Report::shown_in(Style style) {
    if (style == Style::people) return {STDERR_FILENO, {}, std::chrono::milliseconds(100)};
    if (style == Style::quiet) return {};
    return {-1, [](const ProgressFacts& facts) { print_line(progress_event(facts)); }, std::chrono::seconds(1)};
}

void Report::count_failure(const Error& error) {
    if (exit_ == ExitCode::ok) exit_ = exit_code(error.code);
    const auto reason = reason_of(error);
    if (reasons_.size() >= reasons_max && !reasons_.contains(reason)) return;
    auto& [code, count] = reasons_[reason];
    code = error.code;
    ++count;
}

void Report::planned(const File& file) {
    dry_run_ = true;
    if (file.kind == Kind::hidden) return;
    if (file.extraneous) {
        ++deleted_;
        if (style_ == Style::json) print_line(event_of(file, true).flag("dry_run", true).line());
        const auto& name = file.path.empty() ? file.name : file.path;
        if (style_ == Style::people) print_line("deleting " + printable(name));
        return;
    }
    ++(file.kind == Kind::file ? done_ : others_);
    bytes_ += file.bytes;
    if (style_ == Style::json)
        return print_line(event_of(file, true).flag("dry_run", true).number("bytes", file.bytes).line());
    if (style_ == Style::people && file.servers.empty()) print_line(printable(file.name));
    tell_servers(file);
}

void Report::unchanged(const File& file) {
    ++unchanged_;
    if (style_ == Style::json) print_line(event_of(file, true).flag("unchanged", true).line());
    tell_servers(file);
}

void Report::done(const File& file) {
    if (file.kind == Kind::hidden) return;
    if (file.extraneous) {
        ++deleted_;
        waiting_ = false;
        if (style_ == Style::json) print_line(event_of(file, true).line());
        return;
    }
    ++(file.kind == Kind::file ? done_ : others_);
    bytes_ += file.bytes;
    had_bytes_ += file.had_bytes;
    sent_bytes_ += file.sent_bytes;
    connections_ = std::max(connections_, file.connections);
    waiting_ = false;
    tell_servers(file);
    if (style_ != Style::json) return;
    auto object = event_of(file, true);
    if (file.kind != Kind::file) return print_line(object.line());
    object.number("bytes", file.bytes);
    if (file.had_bytes > 0) object.number("had_bytes", file.had_bytes);
    if (file.checksum) object.text("checksum", fmt::format("xxh3:{:016x}", *file.checksum));
    object.number("seconds", file.seconds).number("sent_bytes", file.sent_bytes);
    if (file.connections > 1) object.number("connections", std::uint64_t{file.connections});
    print_line(object.line());
}

void Report::failed(const File& file, const Error& error) {
    ++failed_;
    count_failure(error);
    if (style_ == Style::json) return print_line(event_of(file, false).failure(error).line());
    const auto& name = file.path.empty() ? file.name : file.path;
    bar_.interrupted_by([&] { complain(printable(name) + ": " + explain(error, name)); });
}

void Report::skipped(const File& file, const Error& error) {
    if (file.kind == Kind::hidden) return;
    ++skipped_;
    ++failed_;
    count_failure(error);
    if (style_ == Style::json) print_line(event_of(file, false).failure(error).line());
}

void Report::tell_servers(const File& file) {
    if (style_ != Style::people || file.servers.empty()) return;
    std::string line = printable(file.name) + ":";
    for (const auto& server : file.servers) line.append(1, ' ').append(printable(server));
    bar_.interrupted_by([&] { print_line(line); });
}

void Report::failed_at_once(std::string_view server, const Error& error) {
    ++failed_;
    count_failure(error);
    tell_server(server, error);
}

void Report::lost(std::string_view server, const Error& error) {
    if (lost_.emplace(server).second) tell_server(server, error);
}

void Report::tell_server(std::string_view server, const Error& error) {
    if (style_ == Style::json) {
        JsonObject object;
        object.text("event", "server").flag("ok", false).name("server", server).failure(error);
        return print_line(object.line());
    }
    bar_.interrupted_by([&] { complain(printable(server) + ": " + explain(error, server)); });
}

void Report::waiting(std::string_view server, const Error& error) {
    if (std::exchange(waiting_, true)) return;
    if (style_ == Style::json) {
        JsonObject object;
        object.text("event", "waiting").name("server", server).failure(error);
        return print_line(object.line());
    }
    if (style_ == Style::quiet) return;
    bar_.interrupted_by([&] { complain(printable(server) + ": " + explain(error, server) + "; redialling"); });
}

void Report::gave_up(const Endings& endings) {
    if (!endings.differ()) return;
    if (style_ == Style::json) return print_line(gave_up_event(endings));
    std::string line = fmt::format("given up after {} sessions:", endings.sessions());
    for (const auto& ending : endings.kept())
        line += fmt::format("\n{:>8}  {}: {}", ending.count, printable(ending.server), ending.text);
    if (endings.others() > 0) line += fmt::format("\n{:>8}  in other ways", endings.others());
    bar_.interrupted_by([&] { complain(line); });
}

void Report::deletes_nothing() {
    JsonObject event;
    event.text("event", "not_deleted").text("reason", "failed");
    tell_not_deleted(std::move(event),
                     "nothing is deleted, because not all else succeeded: repeat the command when it does");
}

void Report::deletes_no_more(std::uint64_t count) {
    if (exit_ == ExitCode::ok) exit_ = ExitCode::not_deleted;
    not_deleted_ += count;
    JsonObject event;
    event.text("event", "not_deleted").text("reason", "max_delete").number("count", count);
    tell_not_deleted(std::move(event), fmt::format("--max-delete: {} more would be deleted, and are kept", count));
}

void Report::tell_not_deleted(JsonObject event, const std::string& text) {
    if (style_ == Style::json) return print_line(event.line());
    bar_.interrupted_by([&] { complain(text); });
}

std::string Report::summary_event(double took) const {
    JsonObject object;
    object.text("event", "summary").number("files", done_ + failed_).number("done", done_);
    if (others_ > 0) object.number("folders_and_links", others_);
    if (unchanged_ > 0) object.number("unchanged", unchanged_);
    if (filtered_ > 0) object.number("filtered", filtered_);
    if (deleted_ > 0) object.number("deleted", deleted_);
    if (not_deleted_ > 0) object.number("not_deleted", not_deleted_);
    if (had_bytes_ > 0) object.number("had_bytes", had_bytes_);
    object.number("failed", failed_).number("bytes", bytes_).number("seconds", took);
    object.number("sent_bytes", sent_bytes_);
    if (connections_ > 1) object.number("connections", std::uint64_t{connections_});
    object.number("bytes_per_second", took > 0 ? static_cast<double>(bytes_) / took : 0);
    std::string reasons;
    for (const auto& [text, why] : reasons_) {
        JsonObject reason;
        reason.text("code", code_word(why.first)).text("text", text).number("count", why.second);
        reasons += (reasons.empty() ? "[" : ", ") + reason.line();
    }
    if (!reasons.empty()) object.raw("reasons", reasons + "]");
    return object.number("exit", static_cast<std::uint64_t>(exit_)).line();
}

// A single failure was reported in full when it happened.
void Report::tell_reasons() const {
    if (failed_ < 2) return;
    std::vector<std::pair<std::uint64_t, std::string_view>> order;
    std::uint64_t told = 0;
    for (const auto& [text, why] : reasons_) {
        order.emplace_back(why.second, text);
        told += why.second;
    }
    std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& reason) { return reason.first; });
    std::string line = fmt::format("not {}: {}", verb_, failed_);
    for (const auto& [count, text] : order) line += fmt::format("\n{:>8}  {}", count, text);
    if (told < failed_) line += fmt::format("\n{:>8}  for other reasons", failed_ - told);
    complain(line);
}

ExitCode Report::finish() {
    bar_.stop();
    const double took = seconds();
    const double rate = took > 0 ? static_cast<double>(bytes_) / took : 0;
    if (style_ == Style::json) return print_line(summary_event(took)), exit_;
    if (skipped_ > 0) complain(fmt::format("{} more were not tried", skipped_));
    if (style_ == Style::quiet) return exit_;
    tell_reasons();
    if (done_ + others_ + unchanged_ + deleted_ == 0) return exit_;
    std::string what = plural(done_, "file");
    if (others_ > 0) what += " and " + fmt::format("{} folders and links", others_);
    if (unchanged_ > 0) what += fmt::format(" ({} unchanged)", unchanged_);
    if (filtered_ > 0) what += fmt::format(" ({} left out by patterns)", filtered_);
    if (had_bytes_ > 0)
        what += fmt::format(" ({} from before, {} sent)", human_bytes(had_bytes_), human_bytes(sent_bytes_));
    const auto deleted = [&](std::string_view words) {
        return deleted_ == 0 ? std::string() : fmt::format("; {} {}", words, deleted_);
    };
    if (dry_run_) {
        print_line(fmt::format("to be {}: {}, {}{}", verb_, what, human_bytes(bytes_), deleted("to be deleted:")));
        return exit_;
    }
    const std::string over = connections_ > 1 ? fmt::format(" over {} connections", connections_) : std::string();
    print_line(fmt::format("{} {}, {} in {} ({}){}{}", verb_, what, human_bytes(bytes_),
                           human_duration(std::chrono::duration<double>(took)), human_rate(rate), over,
                           deleted("deleted")));
    return exit_;
}

}  // namespace cinnabar::tools
