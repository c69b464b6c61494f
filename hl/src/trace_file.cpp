// SPDX-License-Identifier: BSD-3-Clause
#include "trace_lanes.hpp"
#include "trace_names.hpp"
#include "trace_text.hpp"

#include <cinnabar/hl/trace_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cinnabar::hl {
namespace {

constexpr std::array<std::string_view, 3> kinds{"call", "handler", "transfer"};
// Added to the name, so that a call and its handler are told apart.
constexpr std::array<std::string_view, 3> suffixes{"", " (handler)", ""};

// The parts of a call that took at least this long are drawn as slices. Shorter calls may come by the thousand, and
// nobody would see their parts.
constexpr std::uint64_t drawn_from_us = 100;

// The maximum text of a span: its name twice, its peer, and some 4,000 other characters, most of them of its parts.
constexpr std::size_t span_bytes_max = 3 * TraceText::plain_max + 6'144;

// The keys of a call's parts, with the names of to_string(CallPart), as literals, which are copied without a call.
struct PartKey {
    template <std::size_t with_zero>
    constexpr PartKey(const char (&key)[with_zero]) : size(with_zero - 1) {
        std::copy(key, key + size, text);
    }
    char text[TraceText::padded]{};
    std::size_t size;
};
constexpr std::array<PartKey, call_parts> part_keys{
    R"(,"us connecting":)",        R"(,"us waiting for a credit":)",    R"(,"us waiting to be sent":)",
    R"(,"us on the wire there":)", R"(,"us waiting for the handler":)", R"(,"us in the handler":)",
    R"(,"us in its transfers":)",  R"(,"us on the wire back":)",        R"(,"us waiting for the caller":)"};

// Adds the parts that took time.
void add_parts(TraceText& text, const CallParts& parts_us) noexcept {
    for (std::size_t part = 0; part < call_parts; ++part) {
        if (parts_us[part] == 0) continue;
        text.add_padded(part_keys[part].text, part_keys[part].size);
        text.add_number(parts_us[part]);
    }
}

void add_arguments(TraceText& text, const SpanRecord& span, std::string_view peer) noexcept {
    text.add(R"(,"args":{"kind":")");
    text.add(kinds[static_cast<std::size_t>(span.kind)]);
    text.add(R"(","trace":")");
    text.add_hex(span.context.id[0]);
    text.add_hex(span.context.id[1]);
    text.add(R"(","span":")");
    text.add_hex(span.context.span);
    if (span.parent != 0) {
        text.add(R"(","parent":")");
        text.add_hex(span.parent);
    }
    text.add(R"(","peer":")");
    text.add(peer);
    text.add(R"(","result":")");
    text.add(to_string(span.result));
    text.add(R"(")");
    if (span.bytes != 0) {
        text.add(R"(,"bytes":)");
        text.add_number(span.bytes);
    }
    add_parts(text, span.parts_us);
    text.add("}");
}

// Adds the flow from a call to its handler, for which both use the number of the call's span. The flow is a part of the
// slices' own events, because separate flow events ("s" and "f") attach only to slices of threads.
void add_flow(TraceText& text, const SpanRecord& span) noexcept {
    const bool out = span.kind == SpanKind::call;
    const std::uint64_t call = out ? span.context.span : span.parent;
    if (span.kind == SpanKind::transfer || call == 0) return;
    text.add(R"(,"bind_id":"0x)");
    text.add_hex(call);
    text.add(out ? R"(","flow_out":true)" : R"(","flow_in":true)");
}

constexpr std::string_view begin_event = ",\n{\"ph\":\"b\",\"name\":\"";
constexpr std::string_view end_event = ",\n{\"ph\":\"e\",\"name\":\"";

// A span as it is drawn.
struct Slice {
    std::uint64_t lane;
    std::uint64_t began_us;
    std::string_view name;
    std::string_view peer;
    std::string_view process;  // the text that names this process
};

// The piece of the text that all events of a span have in common, between their name and their time. Asynchronous
// slices of one lane of one process nest.
struct Track {
    std::size_t begin;
    std::size_t end;
};

// Adds the first event of a span, up to its time.
Track add_first_begin(TraceText& text, SpanKind kind, const Slice& slice) noexcept {
    text.add(begin_event);
    text.add(slice.name);
    text.add(suffixes[static_cast<std::size_t>(kind)]);
    Track track{text.written().size(), 0};
    text.add(R"(","cat":"cinnabar","id2":{"local":"0x)");
    text.add_hex(slice.lane);
    text.add(R"("})");
    text.add(slice.process);
    track.end = text.written().size();
    return track;
}

// Adds what follows the name, in the events after the first.
void add_rest(TraceText& text, const Track& track, std::uint64_t at_us) noexcept {
    text.repeat(track.begin, track.end);
    text.add_time(at_us);
    text.add("}");
}

// Draws the parts one after the other, from the beginning of the call to its end. The part of the handler's transfers
// is drawn after the rest of the handler's time, no matter when the transfers ran.
[[gnu::noinline]] void draw_parts(TraceText& text, const SpanRecord& span, const Track& track) noexcept {
    std::uint64_t at_us = span.began_unix_us;
    for (std::size_t part = 0; part < call_parts; ++part) {
        const std::uint64_t part_us = std::min(span.parts_us[part], end_of(span) - at_us);
        if (part_us == 0) continue;
        const std::string_view name = to_string(static_cast<CallPart>(part));
        text.add(begin_event);
        text.add(name);
        add_rest(text, track, at_us);
        at_us += part_us;
        text.add(end_event);
        text.add(name);
        add_rest(text, track, at_us);
    }
}

void add_span(TraceText& text, const SpanRecord& span, const Slice& slice) noexcept {
    const Track track = add_first_begin(text, span.kind, slice);
    text.add_time(slice.began_us);
    add_flow(text, span);
    add_arguments(text, span, slice.peer);
    text.add("}");
    if (span.took_us >= drawn_from_us && is_timed(span)) draw_parts(text, span, track);
    text.add(end_event);
    text.add(slice.name);
    text.add(suffixes[static_cast<std::size_t>(span.kind)]);
    add_rest(text, track, end_of(span));
}

// For example "greeter on node7".
std::string process_name() {
    std::array<char, 256> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    return TraceText::plain(std::string(program_invocation_short_name) + " on " + host.data());
}

void add_process_name(TraceText& text, std::string_view name) noexcept {
    const auto process = static_cast<std::uint64_t>(::getpid());
    text.add(R"({"ph":"M","name":"process_name","pid":)");
    text.add_number(process);
    text.add(R"(,"tid":)");
    text.add_number(process);
    text.add(R"(,"args":{"name":")");
    text.add(name);
    text.add(R"("}})");
}

// The text of each event from its lane to its time.
std::string process_of_events() {
    const std::string process = std::to_string(::getpid());
    return R"(,"pid":)" + process + R"(,"tid":)" + process + R"(,"ts":)";
}

// The order of spans that began at the same time: viewers take the one that comes first in the file for the parent.
int rank_of(const SpanRecord& span) noexcept {
    if (span.kind == SpanKind::handler) return 1;
    return span.parent == 0 ? 0 : 2;
}

}  // namespace

Result<std::shared_ptr<TraceFile>> TraceFile::make(const std::string& path, SpanExporterOptions options,
                                                   TimeSource& clock) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return Error(errc_from_errno(errno), "the trace file cannot be made", path, errno);
    return std::shared_ptr<TraceFile>(new TraceFile(std::move(file), options, clock));
}

TraceFile::TraceFile(UniqueFd file, SpanExporterOptions options, TimeSource& clock)
    : SpanExporter(options, clock),
      file_(std::move(file)),
      text_(std::make_unique_for_overwrite<TraceText>()),
      lanes_(std::make_unique<TraceLanes>()),
      names_(std::make_unique<TraceNames>()) {}

TraceFile::~TraceFile() {
    finish();
    if (begun_) {
        tell_left_out();
        write_text();
    }
    (void)write(begun_ ? "\n]\n" : "[]\n");
}

bool TraceFile::write(std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t count = ::write(file_.get(), text.data(), text.size());
        if (count > 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
        } else if (count == 0 || errno != EINTR) {
            failure_.store(count == 0 ? EIO : errno, std::memory_order_relaxed);
            return false;
        }
    }
    return true;
}

void TraceFile::write_text() noexcept {
    const std::uint64_t spans = std::exchange(unwritten_, 0);
    if (failure() != 0 || !write(text_->written())) count_dropped(spans);
    text_->clear();
}

// Spans come in the order in which they ended, so few of them are out of place.
void TraceFile::put_in_order(const std::vector<SpanRecord>& spans) {
    const auto before = [&](std::uint32_t left, std::uint32_t right) {
        const SpanRecord& one = spans[left];
        const SpanRecord& other = spans[right];
        if (one.began_unix_us != other.began_unix_us) return one.began_unix_us < other.began_unix_us;
        return rank_of(one) < rank_of(other);
    };
    order_.clear();
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
        const bool last = order_.empty() || !before(i, order_.back());
        order_.insert(last ? order_.end() : std::upper_bound(order_.begin(), order_.end(), i, before), i);
    }
}

void TraceFile::add(const SpanRecord& span) {
    if (text_->room() < span_bytes_max) write_text();
    // Spans that this handler is the parent of may already be in the file, and may have begun in the same microsecond.
    // The handler is drawn from one microsecond earlier, or viewers would not take it for the parent.
    const bool late = span.kind == SpanKind::handler && span.began_unix_us <= written_until_us_;
    add_span(*text_, span,
             {.lane = lanes_->lane_of(span),
              .began_us = span.began_unix_us - (late ? 1 : 0),
              .name = names_->of_rpc(span.name),
              .peer = names_->of_peer(span.peer),
              .process = process_});
    ++unwritten_;
}

// A counter, which viewers draw as a curve.
void TraceFile::tell_left_out() {
    const std::uint64_t calls = calls_left_out();
    const std::uint64_t requests = requests_left_out();
    if (calls == told_calls_ && requests == told_requests_) return;
    told_calls_ = calls;
    told_requests_ = requests;
    if (text_->room() < span_bytes_max) write_text();
    text_->add(",\n{\"ph\":\"C\",\"name\":\"left out\"");
    text_->add(process_);
    text_->add_time(written_until_us_);
    text_->add(R"(,"args":{"calls":)");
    text_->add_number(calls);
    text_->add(R"(,"requests":)");
    text_->add_number(requests);
    text_->add("}}");
}

// Viewers accept an array without its closing bracket, so the file can be read while it grows, and after a crash.
void TraceFile::export_spans(const std::vector<SpanRecord>& spans) {
    process_ = process_of_events();
    if (!std::exchange(begun_, true)) {
        text_->add("[\n");
        add_process_name(*text_, process_name());
    }
    put_in_order(spans);
    for (const std::uint32_t each : order_) add(spans[each]);
    for (const SpanRecord& span : spans) written_until_us_ = std::max(written_until_us_, end_of(span));
    tell_left_out();
    write_text();
}

}  // namespace cinnabar::hl
