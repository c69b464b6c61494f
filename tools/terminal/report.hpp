// SPDX-License-Identifier: BSD-3-Clause
// The output of save, fetch and copy, while they run and at the end: text, or lines of JSON (docs/save-service.md,
// "Output"). One thread.
#pragma once

#include "terminal/endings.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/json.hpp"
#include "terminal/progress.hpp"

#include <cinnabar/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tools {

// For example "no space: the server says (the disk is full)"; omits the error's subject if it equals `known`.
[[nodiscard]] std::string explain(const Error& error, std::string_view known);

// Prints a line to stderr, after "cinnabar: ".
void complain(const std::string& text);
// Prints a line to stdout and flushes it.
void print_line(const std::string& text);

class Report {
  public:
    enum class Style : std::uint8_t { people, quiet, json };
    // How progress is shown: a line on a terminal, or in JSON one event per second.
    [[nodiscard]] static ProgressShown shown_in(Style style);
    // `verb` says what was done to the files, for example "saved". The bar must outlive the report.
    Report(Style style, std::string_view verb, ProgressBar& bar);

    enum class Kind : std::uint8_t {
        file,
        folder,
        link,
        hidden,  // a step that is reported only if it fails
    };
    struct File {
        std::string name;  // on the server
        std::string path;  // local path
        std::uint64_t bytes = 0;
        std::uint64_t had_bytes = 0;            // bytes that were not sent, because the receiver had them
        std::uint64_t sent_bytes = 0;           // bytes that were sent
        std::uint32_t connections = 1;          // that moved it; see files::Moved
        std::optional<std::uint64_t> checksum;  // XXH3
        double seconds = 0;
        Kind kind = Kind::file;
        std::vector<std::string> servers = {};  // of a group: those that have a copy
        bool extraneous = false;                // it is deleted, not moved: has only a name, or only a path
    };
    void done(const File& file);
    // Reports a file that would be transferred without --dry-run.
    void planned(const File& file);
    // Reports a file that is the same on both sides.
    void unchanged(const File& file);
    void failed(const File& file, const Error& error);
    // Counts excluded entries; a folder counts once, with its contents.
    void filtered(std::uint64_t count) noexcept { filtered_ += count; }
    // Reports a file that was not tried, because an earlier error ended the session.
    void skipped(const File& file, const Error& error);
    // Reports that no file could be tried.
    void failed_at_once(std::string_view server, const Error& error);

    // Reports, once for each server, that a server of a group is no longer used. A lost server is no failure, because
    // other servers may suffice.
    void lost(std::string_view server, const Error& error);

    // Reports that the server is lost and will be redialled; once, until something is done again.
    void waiting(std::string_view server, const Error& error);
    // Reports how the sessions of an abandoned server ended, unless all of them ended in the same way.
    void gave_up(const Endings& endings);

    // Whether anything has failed or was not tried.
    [[nodiscard]] bool has_failed() const noexcept { return exit_ != ExitCode::ok; }
    // Reports that --delete removes nothing, because something failed before.
    void deletes_nothing();
    // Reports that --max-delete keeps `count` entries; they are a failure, too.
    void deletes_no_more(std::uint64_t count);

    // Prints the summary. Returns the exit code of the first failure.
    [[nodiscard]] ExitCode finish();

  private:
    [[nodiscard]] double seconds() const;
    void count_failure(const Error& error);
    void tell_server(std::string_view server, const Error& error);
    void tell_servers(const File& file);
    void tell_not_deleted(JsonObject event, const std::string& text);
    [[nodiscard]] std::string summary_event(double took) const;
    void tell_reasons() const;
    Style style_;
    std::string_view verb_;
    ProgressBar& bar_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    ExitCode exit_ = ExitCode::ok;
    std::uint64_t done_ = 0;
    std::uint64_t others_ = 0;  // folders and links
    std::uint64_t unchanged_ = 0;
    std::uint64_t deleted_ = 0;
    std::uint64_t not_deleted_ = 0;  // because of --max-delete
    bool dry_run_ = false;
    std::uint64_t failed_ = 0;
    std::uint64_t skipped_ = 0;
    std::uint64_t filtered_ = 0;
    // The number of distinct reasons counted; bounded, because servers supply the texts.
    static constexpr std::size_t reasons_max = 16;
    std::map<std::string, std::pair<Errc, std::uint64_t>> reasons_;
    std::uint64_t bytes_ = 0;
    std::uint64_t had_bytes_ = 0;
    std::uint64_t sent_bytes_ = 0;
    std::uint32_t connections_ = 1;  // at most, of one file
    bool waiting_ = false;
    std::set<std::string, std::less<>> lost_;
};

}  // namespace cinnabar::tools
