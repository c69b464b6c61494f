// SPDX-License-Identifier: BSD-3-Clause
// What save and fetch tell while they run and at their end: for people, or as lines of JSON (docs/save-service.md,
// "Output"). One thread.
#pragma once

#include "terminal/exit_code.hpp"
#include "terminal/progress.hpp"

#include <cinnabar/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::tools {

// "no space: the server says (the disk is full)"; a subject that the reader knows already is left out.
[[nodiscard]] std::string explain(const Error& error, std::string_view known);

// To stderr, after "cinnabar: ".
void complain(const std::string& text);
// To stdout, at once.
void print_line(const std::string& text);

class Report {
  public:
    enum class Style : std::uint8_t { people, quiet, json };
    // How progress is shown: a line on a terminal, or in JSON one event per second.
    [[nodiscard]] static ProgressShown shown_in(Style style);
    // `verb` is what was done to the files: "saved". The bar must outlive the report.
    Report(Style style, std::string_view verb, ProgressBar& bar);

    enum class Kind : std::uint8_t {
        file,
        folder,
        link,
        hidden,  // a step that is told only when it fails
    };
    struct File {
        std::string name;  // on the server
        std::string path;  // here
        std::uint64_t bytes = 0;
        std::uint64_t had_bytes = 0;            // those of `bytes` that were there before
        std::uint64_t sent_bytes = 0;           // those of `bytes` that were sent
        std::optional<std::uint64_t> checksum;  // XXH3
        double seconds = 0;
        Kind kind = Kind::file;
    };
    void done(const File& file);
    // Would be done, but for --dry-run.
    void planned(const File& file);
    // Is the same on both sides already.
    void unchanged(const File& file);
    void failed(const File& file, const Error& error);
    // Counts entries that the user's patterns exclude; a folder counts once, with all in it.
    void filtered(std::uint64_t count) noexcept { filtered_ += count; }
    // Not tried any more, for the same reason as the one before.
    void skipped(const File& file, const Error& error);
    // Nothing could be tried at all.
    void failed_at_once(std::string_view server, const Error& error);

    // The server is lost, and will be dialled again. Told once until something is done.
    void waiting(std::string_view server, const Error& error);

    // Prints the summary and gives the exit code: that of the first failure.
    [[nodiscard]] ExitCode finish();

  private:
    [[nodiscard]] double seconds() const;
    void count_failure(const Error& error);
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
    bool dry_run_ = false;
    std::uint64_t failed_ = 0;
    std::uint64_t skipped_ = 0;
    std::uint64_t filtered_ = 0;
    // Distinct reasons for failures that are counted. Bounded, whatever a server says.
    static constexpr std::size_t reasons_max = 16;
    std::map<std::string, std::pair<Errc, std::uint64_t>> reasons_;
    std::uint64_t bytes_ = 0;
    std::uint64_t had_bytes_ = 0;
    std::uint64_t sent_bytes_ = 0;
    bool waiting_ = false;
};

}  // namespace cinnabar::tools
