// SPDX-License-Identifier: BSD-3-Clause
#include "commands/transfer.hpp"

#include "commands/batched_errands.hpp"
#include "commands/session.hpp"
#include "terminal/endings.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

namespace cinnabar::tools {
namespace {

bool is_further_name(const Errand& errand) {
    return errand.file.kind == Report::Kind::link && errand.result && errand.result->kind == files::EntryKind::file;
}

// The errands of one server, and the tasks that process them. If the session is lost, a later session continues.
class Movement {
  public:
    Movement(const Planner& planner, const TransferOptions& options, Report& report, ProgressBar& bar,
             const Interrupt& interrupt)
        : planner_(planner), options_(options), report_(report), bar_(bar), interrupt_(interrupt) {}

    // Processes errands over an open session. ok: all are done.
    hl::Task<Result<void>> run(files::Client& session) {
        end_.reset();
        held_.reset();
        if (!plan_) {
            left_out_ = {};
            Result<Plan> plan = co_await planner_(session, left_out_);
            if (!plan) co_return std::move(plan).error();
            left_out_.report_to(report_);
            plan_ = *std::move(plan);
        }
        for (auto& phase : *plan_) {
            if (end_) break;
            co_await run_phase(session, phase);
            if (!end_) end_ = held_;
        }
        if (end_) co_return *end_;
        co_return Result<void>();
    }
    // The number of errands that are over; shows whether a session made progress.
    [[nodiscard]] std::uint64_t over() const noexcept { return over_; }
    // Reports each errand that is not over as failed or as not tried. If there is no plan yet, reports only that
    // `server` failed. Requires: a session has ended with `why`.
    void give_up(const std::string& server, const Error& why) {
        if (!plan_) {
            left_out_.report_to(report_);
            return report_.failed_at_once(server, why);
        }
        const bool canceled = why.code == Errc::canceled;
        for (auto& phase : *plan_) {
            for (auto& errand : phase) {
                if (errand.lost) report_.failed(errand.file, canceled ? why : *errand.lost);
            }
        }
        for (auto& phase : *plan_) {
            for (auto& errand : phase) {
                if (!errand.over && !errand.lost) report_.skipped(errand.file, why);
            }
        }
    }

  private:
    hl::Task<void> run_phase(files::Client& session, std::vector<Errand>& phase) {
        co_await leave_out_same(session, phase);
        if (end_) co_return;
        if (options_.dry_run) {
            for (auto& errand : phase) {
                if (errand.over) continue;
                report_.planned(errand.file);
                errand.over = true;
            }
            co_return;
        }
        std::vector<hl::Task<void>> workers;
        std::size_t next = 0;
        for (std::size_t i = 0; i < std::min<std::size_t>(options_.jobs, phase.size()); ++i)
            workers.push_back(work(session, phase, next));
        if (!workers.empty()) (void)co_await hl::when_all(std::move(workers));
    }

    hl::Task<void> leave_out_same(files::Client& session, std::vector<Errand>& phase) {
        std::vector<Errand*> asked;
        for (auto& errand : phase) {
            if (errand.ask_first && errand.is_same && !errand.over) asked.push_back(&errand);
        }
        std::vector<hl::Task<void>> lanes;
        std::size_t next = 0;
        for (std::size_t i = 0; i < std::min<std::size_t>(options_.jobs, asked.size()); ++i)
            lanes.push_back(ask(session, asked, next));
        if (!lanes.empty()) (void)co_await hl::when_all(std::move(lanes));
    }

    // An errand whose file cannot be compared is carried out; if the errand fails, too, its own error is reported.
    hl::Task<void> ask(files::Client& session, const std::vector<Errand*>& errands, std::size_t& next) {
        while (next < errands.size() && !end_) {
            if (interrupt_.happened()) {
                end_ = Error{Errc::canceled, "interrupted"};
                break;
            }
            auto& errand = *errands[next++];
            Result<bool> same = co_await errand.is_same(session);
            if (!same && ends_all(same.code())) {
                errand.lost = as_from_server(same.error(), interrupt_);
                if (!end_) end_ = errand.lost;
                break;
            }
            errand.ask_first = false;
            if (same && *same) leave_out(errand);
        }
    }

    hl::Task<void> work(files::Client& session, std::vector<Errand>& errands, std::size_t& next) {
        while (next < errands.size() && !end_) {
            if (interrupt_.happened()) {  // steps on this host do not end by themselves, as calls do
                end_ = Error{Errc::canceled, "interrupted"};
                break;
            }
            auto together = take_together(session, errands, next);
            if (together.size() > 1) {
                co_await move_together(session, together);
                continue;
            }
            auto& errand = errands[next++];
            if (is_pointless(errand)) errand.over = true;
            if (errand.over) continue;
            bar_.begin_file(errand.file.name);
            const auto begin = std::chrono::steady_clock::now();
            Result<files::Moved> moved = Errc::closed;
            bool same = false;
            if (auto refused = why_not(errand)) {
                moved = *std::move(refused);
            } else {
                moved = co_await errand.move(session, errand.lost.has_value());
                same = co_await was_there(session, errand, moved);
            }
            errand.file.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            bar_.leave_file(errand.file.name);
            same ? leave_out(errand) : settle(errand, moved);
        }
    }

    // Returns whether the errand failed because its name is taken by the same file. If an error ends the session during
    // the comparison, sets `moved` to that error.
    static hl::Task<bool> was_there(files::Client& session, const Errand& errand, Result<files::Moved>& moved) {
        if (moved.code() != Errc::exists || !errand.is_same) co_return false;
        Result<bool> same = co_await errand.is_same(session);
        if (!same && ends_all(same.code())) moved = same.error();
        co_return same&&* same;
    }

    // Whether to skip the errand silently: finishing a folder that could not be made, which was reported already.
    [[nodiscard]] bool is_pointless(const Errand& errand) const {
        return errand.file.kind == Report::Kind::hidden && errand.result && failed_.contains(errand.result->name);
    }

    // Returns whether the errand can be done in the same call as `others`. False also if an earlier session was lost
    // during the errand; the errand is then done by itself.
    bool may_join(const Errand& errand, const std::vector<Errand*>& others) const {
        if (!may_go_together(errand) || errand.over || errand.lost || is_pointless(errand) || why_not(errand))
            return false;
        return others.empty() || go_together(*others.front(), errand);
    }
    std::vector<Errand*> take_together(const files::Client& session, std::vector<Errand>& errands, std::size_t& next) {
        std::vector<Errand*> together;
        std::uint64_t bytes = 0;
        auto at = next;
        while (at < errands.size() && together.size() < files::small_files_max && may_join(errands[at], together)) {
            bytes += errands[at].file.bytes;
            if (bytes > session.window_bytes()) break;
            together.push_back(&errands[at++]);
        }
        if (together.size() > 1) next = at;
        return together;
    }

    hl::Task<void> move_together(files::Client& session, const std::vector<Errand*>& errands) {
        for (auto* errand : errands) bar_.begin_file(errand->file.name);
        const auto begin = std::chrono::steady_clock::now();
        const std::vector<Result<files::Moved>> moved_all = co_await move_in_one_call(session, errands);
        const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        for (std::size_t i = 0; i < errands.size(); ++i) {
            errands[i]->file.seconds = took;
            bar_.leave_file(errands[i]->file.name);
            Result<files::Moved> moved = moved_all[i];
            const bool same = co_await was_there(session, *errands[i], moved);
            if (moved) bar_.add_bytes(moved->bytes);
            same ? leave_out(*errands[i]) : settle(*errands[i], moved);
        }
    }

    void leave_out(Errand& errand) {
        errand.lost.reset();
        errand.over = true;
        ++over_;
        bar_.end_file();
        bar_.add_bytes(errand.file.bytes);
        report_.unchanged(errand.file);
    }

    void settle(Errand& errand, const Result<files::Moved>& moved) {
        const bool tried = errand.lost.has_value();
        errand.lost.reset();
        // The server is still busy with this errand of an earlier session, so the errand is tried again later. The
        // other errands of this phase continue meanwhile.
        if (tried && moved.code() == Errc::busy) {
            held_ = errand.lost = moved.error();
            return;
        }
        if (!moved && ends_all(moved.code())) {
            errand.lost = as_from_server(moved.error(), interrupt_);
            if (!end_) end_ = errand.lost;
            return;
        }
        errand.over = true;
        ++over_;
        if (errand.file.kind == Report::Kind::file && !errand.file.extraneous) bar_.end_file();
        if (!moved) {
            if (errand.result) failed_.emplace(errand.result->name, moved.code());
            return report_.failed(errand.file, moved.error());
        }
        errand.file.bytes = moved->bytes;
        errand.file.had_bytes = moved->had_bytes;
        errand.file.sent_bytes = moved->sent_bytes;
        errand.file.connections = moved->connections;
        errand.file.checksum = moved->checksum;
        report_.done(errand.file);
    }

    // Returns why the errand must not be tried; empty: it may be tried. If a folder above the entry has failed, a link
    // may have the folder's name, and the entry would be made where the link leads. If the file that a hard link refers
    // to has failed, another file may have the file's name.
    [[nodiscard]] std::optional<Error> why_not(const Errand& errand) const {
        if (!errand.result || failed_.empty()) return std::nullopt;
        for (auto up = files::parent_of(errand.result->name); !up.empty(); up = files::parent_of(up)) {
            if (const auto folder = failed_.find(up); folder != failed_.end())
                return Error{folder->second, "the folder that it is in has failed", printable(up)};
        }
        if (!is_further_name(errand)) return std::nullopt;
        const auto first = failed_.find(errand.result->target);
        if (first == failed_.end()) return std::nullopt;
        return Error{first->second, "the file that it links to has failed", printable(first->first)};
    }

    const Planner& planner_;
    const TransferOptions& options_;
    Report& report_;
    ProgressBar& bar_;
    const Interrupt& interrupt_;
    std::optional<Plan> plan_;
    LeftOut left_out_;
    std::optional<Error> end_;   // the error that ended this session
    std::optional<Error> held_;  // busy: the server has not ended an earlier attempt of an errand
    std::uint64_t over_ = 0;
    std::map<std::string, Errc, std::less<>> failed_;  // failed entries of trees, by their name on the receiving side
};

}  // namespace

void LeftOut::report_to(Report& report) const {
    for (const auto& [file, why] : failed_) report.failed(file, why);
    report.filtered(filtered_);
}

void move_over(const Opening& open, const TransferOptions& options, const Planner& planner, Report& report,
               ProgressBar& bar, const Interrupt& interrupt) {
    Movement movement(planner, options, report, bar, interrupt);
    bool opened = false;
    const SessionWork work = [&](files::Client& session) {
        opened = true;
        return movement.run(session);
    };
    Redial redial(options.wait_seconds, interrupt);
    Endings endings;
    for (;;) {
        const auto over = movement.over();
        opened = false;
        const auto ended = open(work);
        if (ended.result) return;
        if (movement.over() != over) redial.reset();
        Error why = as_from_server(ended.result.error(), interrupt);
        endings.add(ended.server, why);
        if (redial.comes_back_after(why, opened)) {
            report.waiting(ended.server, why);
            if (redial.wait()) continue;
            why = Error{Errc::canceled, "interrupted while the server was away"};
        }
        movement.give_up(ended.server, why);
        if (!interrupt.happened()) report.gave_up(endings);
        return;
    }
}

void move_all(const std::string& server, const TransferOptions& options, const Planner& planner, Report& report,
              ProgressBar& bar, const Interrupt& interrupt) {
    const Opening open = [&](const SessionWork& work) -> Ended {
        const auto key = find_key(server, options);
        if (!key) return {key.error(), options.key_file.empty() ? server : options.key_file};
        return {over_session(server, *key, options, work, interrupt), server};
    };
    move_over(open, options, planner, report, bar, interrupt);
}

Report::Style style_of(const TransferOptions& options) noexcept {
    return options.json ? Report::Style::json : options.quiet ? Report::Style::quiet : Report::Style::people;
}

}  // namespace cinnabar::tools
