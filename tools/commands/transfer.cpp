// SPDX-License-Identifier: BSD-3-Clause
#include "commands/transfer.hpp"

#include "commands/reach.hpp"

#include <cinnabar/files/automatic_key.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace cinnabar::tools {
namespace {

bool is_further_name(const Errand& errand) {
    return errand.file.kind == Report::Kind::link && errand.result && errand.result->kind == files::EntryKind::file;
}

// The files of one session, and the tasks that take one after another.
class Movement {
  public:
    Movement(files::Client& session, Report& report, ProgressBar& bar, bool dry_run)
        : session_(session), report_(report), bar_(bar), dry_run_(dry_run) {}

    hl::Task<Result<void>> run(const Planner& planner, unsigned jobs) {
        Result<void> opened = co_await session_.open();
        if (opened) opened = co_await run_plan(planner, jobs);
        co_await session_.close();
        co_return opened;
    }

  private:
    hl::Task<Result<void>> run_plan(const Planner& planner, unsigned jobs) {
        Result<Plan> plan = co_await planner(session_);
        if (!plan) co_return std::move(plan).error();
        for (auto& phase : *plan) {
            if (dry_run_) {
                for (const auto& errand : phase) report_.planned(errand.file);
                continue;
            }
            std::vector<hl::Task<void>> workers;
            std::size_t next = 0;
            for (std::size_t i = 0; i < std::min<std::size_t>(jobs, phase.size()); ++i)
                workers.push_back(work(phase, next));
            if (!workers.empty()) (void)co_await hl::when_all(std::move(workers));
        }
        co_return Result<void>();
    }

    hl::Task<void> work(std::vector<Errand>& errands, std::size_t& next) {
        while (next < errands.size()) {
            auto& errand = errands[next++];
            if (end_) {
                report_.skipped(errand.file, *end_);
                continue;
            }
            // A folder that could not be made was told.
            if (errand.file.kind == Report::Kind::hidden && failed_.contains(errand.result->name)) continue;
            bar_.begin_file(errand.file.name);
            const auto begin = std::chrono::steady_clock::now();
            Result<files::Moved> moved = Errc::closed;
            if (auto refused = why_not(errand)) {
                moved = *std::move(refused);
            } else {
                moved = co_await errand.move(session_);
            }
            errand.file.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            if (errand.file.kind == Report::Kind::file) bar_.end_file();
            if (!moved) {
                if (!end_ && ends_all(moved.code())) end_ = moved.error();
                if (errand.result) failed_.emplace(errand.result->name, moved.code());
                report_.failed(errand.file, moved.error());
                continue;
            }
            errand.file.bytes = moved->bytes;
            errand.file.checksum = moved->checksum;
            report_.done(errand.file);
        }
    }

    // Where its first name failed, something else may have that name, and would get another one.
    [[nodiscard]] std::optional<Error> why_not(const Errand& errand) const {
        if (!is_further_name(errand)) return std::nullopt;
        const auto first = failed_.find(errand.result->target);
        if (first == failed_.end()) return std::nullopt;
        return Error{first->second, "it is another name of a file that failed", files::printable(first->first)};
    }

    files::Client& session_;
    Report& report_;
    ProgressBar& bar_;
    const bool dry_run_;
    std::optional<Error> end_;
    std::map<std::string, Errc> failed_;  // of trees, by the name on the side that gets it
};

Result<void> try_move_all(const std::string& server, const TransferOptions& options, const files::Key* key,
                          const Planner& planner, Report& report, ProgressBar& bar, const Interrupt& interrupt) {
    CINNABAR_TRY(const auto reached, reach(server, options.transport));
    // A server of this user would have made a key, unless it was told not to.
    const bool may_be_anyone = !options.insecure && leads_to_loopback(reached);
    files::Client session(reached.node, reached.peer, key,
                          may_be_anyone ? files::Keyless::refused : files::Keyless::accepted);
    Movement movement(session, report, bar, options.dry_run);
    return hl::sync_wait(movement.run(planner, options.jobs), interrupt.token());
}

}  // namespace

bool ends_all(Errc code) noexcept {
    switch (code) {
        case Errc::refused:
        case Errc::unreachable:
        case Errc::peer_lost:
        case Errc::timed_out:
        case Errc::canceled:
        case Errc::closed:
        case Errc::shutting_down:
        case Errc::no_such_rpc:
        case Errc::bad_signature:
        case Errc::protocol:
            return true;
        default:
            return false;
    }
}

void move_all(const std::string& server, const TransferOptions& options, const Planner& planner, Report& report,
              ProgressBar& bar, const Interrupt& interrupt) {
    std::optional<files::Key> key;
    if (!options.key_file.empty()) {
        auto loaded = files::Key::load(options.key_file);
        if (!loaded) return report.failed_at_once(options.key_file, loaded.error());
        key.emplace(std::move(*loaded));
    } else {
        auto found = files::find_automatic_key(server);
        if (!found) return report.failed_at_once(server, found.error());
        key = std::move(*found);
    }
    const auto moved = try_move_all(server, options, key ? &*key : nullptr, planner, report, bar, interrupt);
    if (!moved) report.failed_at_once(server, moved.error());
}

Report::Style style_of(const TransferOptions& options) noexcept {
    return options.json ? Report::Style::json : options.quiet ? Report::Style::quiet : Report::Style::people;
}

}  // namespace cinnabar::tools
