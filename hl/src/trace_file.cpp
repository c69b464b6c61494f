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

// The maximum text of a span: its name twice, its peer, and some 4,100 other characters, most of them of its phases.
constexpr std::size_t span_bytes_max = 3 * TraceText::plain_max + 6'144;

// The names of to_string(CallPart), as literals, which are copied without a call.
struct PartName {
    template <std::size_t with_zero>
    constexpr PartName(const char (&name)[with_zero]) : size(with_zero - 1) {
        std::copy(name, name + size, text);
    }
    char text[24]{};
    std::size_t size;
};
constexpr std::array<PartName, call_parts> part_names{
    "connecting",     "waiting for a credit", "waiting to be sent", "on the wire there",     "waiting for the handler",
    "in the handler", "in its transfers",     "on the wire back",   "waiting for the caller"};

void add_parts(TraceText& text, const CallParts& parts_us) noexcept {
    for (std::size_t part = 0; part < call_parts; ++part) {
        text.add(R"(, "us )");
        text.add_padded(part_names[part].text, part_names[part].size);
        text.add(R"(": )");
        text.add_number(parts_us[part]);
    }
}

void add_arguments(TraceText& text, const SpanRecord& span, std::string_view peer) noexcept {
    text.add(", \"args\": {\"kind\": \"");
    text.add(kinds[static_cast<std::size_t>(span.kind)]);
    text.add("\", \"trace\": \"");
    text.add_hex(span.context.id[0]);
    text.add_hex(span.context.id[1]);
    text.add("\", \"span\": \"");
    text.add_hex(span.context.span);
    text.add("\", \"parent\": \"");
    if (span.parent != 0) text.add_hex(span.parent);
    text.add("\", \"peer\": \"");
    text.add(peer);
    text.add("\", \"result\": \"");
    text.add(to_string(span.result));
    text.add("\"");
    if (span.bytes != 0) {
        text.add(", \"bytes\": ");
        text.add_number(span.bytes);
    }
    if (is_timed(span)) add_parts(text, span.parts_us);
    text.add("}");
}

// What the events of a span have in common. Asynchronous slices of one lane of one process nest.
struct SliceTrack {
    std::string_view process;  // the text
    std::uint64_t lane;
};

// Where the head of an event is in the text. The head is everything from the name to the time. Behind the name, the
// heads of all events of a span differ only in one letter, the event's phase ("b" or "e").
struct SliceHead {
    std::size_t begin;
    std::size_t behind_name;
    std::size_t phase;
    std::size_t end;
};

SliceHead add_head(TraceText& text, std::string_view name, std::string_view suffix, const SliceTrack& track) noexcept {
    SliceHead head{};
    head.begin = text.written().size();
    text.add(R"({"name": ")");
    text.add(name);
    text.add(suffix);
    head.behind_name = text.written().size();
    text.add(R"(", "cat": "cinnabar", "ph": ")");
    head.phase = text.written().size();
    text.add(R"(b", "id2": {"local": "0x)");
    text.add_hex(track.lane);
    text.add(track.process);
    head.end = text.written().size();
    return head;
}

// The head of another slice of the span.
SliceHead add_head(TraceText& text, const PartName& name, const SliceHead& of_span) noexcept {
    SliceHead head{};
    head.begin = text.written().size();
    text.add(R"({"name": ")");
    text.add_padded(name.text, name.size);
    head.behind_name = text.written().size();
    text.repeat(of_span.behind_name, of_span.end);
    head.phase = head.behind_name + (of_span.phase - of_span.behind_name);
    head.end = text.written().size();
    return head;
}

void add_end(TraceText& text, const SliceHead& head, std::uint64_t at_us) noexcept {
    text.add(",\n");
    const std::size_t begin = text.written().size();
    text.repeat(head.begin, head.end);
    text.change(begin + (head.phase - head.begin), 'e');
    text.add_time(at_us);
    text.add("}");
}

// Adds the flow that leads from a call to its handler; the call and the handler identify the flow by the number of the
// call's span. The flow is a part of the slices' own events, because separate flow events ("s" and "f") attach only to
// slices of threads.
void add_flow(TraceText& text, const SpanRecord& span) noexcept {
    const bool out = span.kind == SpanKind::call;
    const std::uint64_t call = out ? span.context.span : span.parent;
    if (span.kind == SpanKind::transfer || call == 0) return;
    text.add(R"(, "bind_id": "0x)");
    text.add_hex(call);
    text.add(out ? R"(", "flow_out": true)" : R"(", "flow_in": true)");
}

// Draws the phases one after the other, from the beginning of the call to its end. The phase of the handler's transfers
// is drawn after the rest of the handler's time, no matter when the transfers ran.
void add_phases(TraceText& text, const SpanRecord& span, const SliceHead& of_span) noexcept {
    std::uint64_t at_us = span.began_unix_us;
    for (std::size_t part = 0; part < call_parts; ++part) {
        const std::uint64_t part_us = std::min(span.parts_us[part], end_of(span) - at_us);
        if (part_us == 0) continue;
        text.add(",\n");
        const SliceHead head = add_head(text, part_names[part], of_span);
        text.add_time(at_us);
        text.add("}");
        at_us += part_us;
        add_end(text, head, at_us);
    }
}

void add_span(TraceText& text, const SpanRecord& span, std::uint64_t drawn_us, std::string_view name,
              std::string_view peer, const SliceTrack& track) noexcept {
    const SliceHead head = add_head(text, name, suffixes[static_cast<std::size_t>(span.kind)], track);
    text.add_time(drawn_us);
    add_flow(text, span);
    add_arguments(text, span, peer);
    text.add("}");
    if (is_timed(span)) add_phases(text, span, head);
    add_end(text, head, end_of(span));
}

// For example "greeter on node7".
std::string process_name() {
    std::array<char, 256> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    return TraceText::plain(std::string(program_invocation_short_name) + " on " + host.data());
}

void add_process_name(TraceText& text, std::string_view name) noexcept {
    const auto process = static_cast<std::uint64_t>(::getpid());
    text.add(R"({"name": "process_name", "ph": "M", "pid": )");
    text.add_number(process);
    text.add(R"(, "tid": )");
    text.add_number(process);
    text.add(R"(, "args": {"name": ")");
    text.add(name);
    text.add(R"("}})");
}

// The text of each event from its lane to its time.
std::string process_of_events() {
    const std::string process = std::to_string(::getpid());
    return R"("}, "pid": )" + process + R"(, "tid": )" + process + R"(, "ts": )";
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

// Sorts the spans by their beginnings. Spans come in the order in which they ended, so few are out of place.
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
    // Spans whose parent is this handler may already be in the file, and may have begun in the same microsecond. So the
    // handler is drawn from one microsecond earlier; otherwise viewers would not take the handler for the parent.
    const bool late = span.kind == SpanKind::handler && span.began_unix_us <= written_until_us_;
    text_->add(",\n");
    add_span(*text_, span, span.began_unix_us - (late ? 1 : 0), names_->of_rpc(span.name), names_->of_peer(span.peer),
             {process_, lanes_->lane_of(span)});
    ++unwritten_;
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
    write_text();
}

}  // namespace cinnabar::hl
