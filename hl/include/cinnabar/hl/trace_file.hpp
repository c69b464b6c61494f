// SPDX-License-Identifier: BSD-3-Clause
// Writes spans into a file in Chrome's trace format, which https://ui.perfetto.dev and chrome://tracing open. The files
// of several processes may be joined: times are those of day, and each span has its trace, itself and its parent among
// its arguments.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/hl/span_exporter.hpp>

#include <memory>
#include <string>

namespace cinnabar::hl {

class CINNABAR_API TraceFile final : public SpanExporter {
  public:
    // Makes the file, or empties it. Errors of open(2), by their code; the subject is the path.
    [[nodiscard]] static Result<std::shared_ptr<TraceFile>> make(const std::string& path,
                                                                 SpanExporterOptions options = {},
                                                                 TimeSource& clock = steady_clock());
    // Requires: no node uses it any more.
    ~TraceFile() override;

    // The errno of a write that failed; 0: none did. What could not be written is counted by dropped().
    [[nodiscard]] int failure() const noexcept { return failure_.load(std::memory_order_relaxed); }

  private:
    TraceFile(UniqueFd file, SpanExporterOptions options, TimeSource& clock);
    void export_spans(const std::vector<SpanRecord>& spans) override;
    [[nodiscard]] bool write(std::string_view text) noexcept;

    UniqueFd file_;
    bool begun_ = false;
    std::atomic<int> failure_{0};
};

}  // namespace cinnabar::hl
