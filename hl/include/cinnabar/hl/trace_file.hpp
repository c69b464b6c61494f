// SPDX-License-Identifier: BSD-3-Clause
// Writes spans to a file in Chrome's trace format, which https://ui.perfetto.dev and chrome://tracing open. The files
// of several processes can be merged: times are wall-clock times, and the arguments of each span contain its trace, its
// own id and its parent's.
//
// Each process has a name: the program's, and the host's. Calls and transfers that a handler makes are drawn below the
// handler. A call or transfer that overlaps an earlier one of the handler, or outlives the handler, is drawn beside it
// instead. The parts of a call's time, if they are known, are arguments of the call; parts below a microsecond are left
// out. The parts are drawn below the call, too, if the call took at least 100 us. A flow leads from a call to its
// handler, also between processes. The counter "left out" shows how many calls and requests the limits have left out.
#pragma once

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/hl/span_exporter.hpp>

#include <memory>
#include <string>

namespace cinnabar::hl {

class TraceLanes;
class TraceNames;
class TraceText;

class CINNABAR_API TraceFile final : public SpanExporter {
  public:
    // Creates the file, or truncates it. Errors of open(2), by their code; the subject is the path.
    [[nodiscard]] static Result<std::shared_ptr<TraceFile>> make(const std::string& path,
                                                                 SpanExporterOptions options = {},
                                                                 TimeSource& clock = steady_clock());
    // Requires: no node uses the TraceFile any more.
    ~TraceFile() override;

    // The errno of a failed write; 0: none failed. dropped() counts the spans that could not be written.
    [[nodiscard]] int failure() const noexcept { return failure_.load(std::memory_order_relaxed); }

  private:
    TraceFile(UniqueFd file, SpanExporterOptions options, TimeSource& clock);
    void export_spans(const std::vector<SpanRecord>& spans) override;
    [[nodiscard]] bool write(std::string_view text) noexcept;
    void write_text() noexcept;
    void put_in_order(const std::vector<SpanRecord>& spans);
    void add(const SpanRecord& span);
    void tell_left_out();

    UniqueFd file_;
    bool begun_ = false;
    std::unique_ptr<TraceText> text_;
    std::unique_ptr<TraceLanes> lanes_;
    std::unique_ptr<TraceNames> names_;
    std::string process_;                 // the text of each event that names this process
    std::vector<std::uint32_t> order_;    // the order in which the present spans are written, as indices
    std::uint64_t written_until_us_ = 0;  // when the last of the earlier spans ended
    std::uint64_t unwritten_ = 0;         // spans in the text
    std::uint64_t told_calls_ = 0;        // of calls_left_out(), in the text
    std::uint64_t told_requests_ = 0;
    std::atomic<int> failure_{0};
};

}  // namespace cinnabar::hl
