// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/span_exporter.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace cinnabar::hl {
namespace {

std::int64_t unix_offset(TimeSource& clock) noexcept {
    const auto unix_us =
        std::chrono::duration_cast<Microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return unix_us - static_cast<std::int64_t>(clock.now_us());
}

}  // namespace

SpanExporter::SpanExporter(SpanExporterOptions options, TimeSource& clock)
    : options_(options),
      clock_(clock),
      unix_offset_us_(unix_offset(clock)),
      traces_(options.traces_per_second),
      requests_(options.requests_per_second),
      thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() { CINNABAR_ASSERT(!thread_.joinable()); }

void SpanExporter::ended(const Span& span) noexcept {
    try {
        SpanRecord record{span.kind,
                          span.name,
                          span.context,
                          span.parent,
                          static_cast<std::uint64_t>(static_cast<std::int64_t>(span.began_us) + unix_offset_us_),
                          span.ended_us - std::min(span.began_us, span.ended_us),
                          span.result,
                          span.peer ? *span.peer : na::Addr(),
                          span.bytes,
                          span.parts_us};
        bool half_full = false;
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.size() >= options_.spans_max) return count_dropped(1);
            waiting_.push_back(std::move(record));
            half_full = waiting_.size() == options_.spans_max / 2;
        }
        if (half_full) changed_.notify_all();
    } catch (const std::bad_alloc&) {
        count_dropped(1);
    }
}

void SpanExporter::flush() {
    std::unique_lock lock(mutex_);
    const std::uint64_t wanted = ++flushes_wanted_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return flushes_done_ >= wanted; });
}

void SpanExporter::finish() {
    {
        const std::lock_guard lock(mutex_);
        finished_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void SpanExporter::run() {
    std::vector<SpanRecord> spans;  // is swapped with waiting_, so that both keep their memory
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait_for(lock, options_.period, [this] {
            return finished_ || flushes_wanted_ != flushes_done_ ||
                   (options_.spans_max > 1 && waiting_.size() >= options_.spans_max / 2);
        });
        const bool last = finished_;
        const std::uint64_t wanted = flushes_wanted_;
        spans.swap(waiting_);
        lock.unlock();
        if (!spans.empty()) export_spans(spans);
        spans.clear();
        lock.lock();
        flushes_done_ = wanted;
        changed_.notify_all();
        if (last) return;
    }
}

}  // namespace cinnabar::hl
