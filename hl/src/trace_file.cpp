// SPDX-License-Identifier: BSD-3-Clause
#include "trace_text.hpp"

#include <cinnabar/hl/trace_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace cinnabar::hl {
namespace {

std::string_view category_of(SpanKind kind) noexcept {
    constexpr std::array<std::string_view, 3> names{"call", "handler", "transfer"};
    return names[static_cast<std::size_t>(kind)];
}

// The maximum text of a span: its name twice, its peer, and some 700 other characters.
constexpr std::size_t span_bytes_max = 3 * TraceText::plain_max + 1'024;

// The names are those of to_string(CallPart); as literals they are copied without a call.
void add_parts(TraceText& text, const CallParts& parts_us) noexcept {
    const auto add = [&](std::string_view name, CallPart part) {
        text.add(name);
        text.add_number(parts_us[static_cast<std::size_t>(part)]);
    };
    add(R"(, "us leaving": )", CallPart::leaving);
    add(R"(, "us on the wire": )", CallPart::on_the_wire);
    add(R"(, "us waiting for the handler": )", CallPart::for_handler);
    add(R"(, "us in the handler": )", CallPart::in_handler);
    add(R"(, "us waiting for the caller": )", CallPart::for_caller);
}

void add_arguments(TraceText& text, const SpanRecord& span, std::string_view peer) noexcept {
    text.add(", \"args\": {\"trace\": \"");
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

// The beginning and the end of an asynchronous slice. Such slices may overlap without nesting.
void add_events(TraceText& text, const SpanRecord& span, std::string_view peer, std::uint64_t process) noexcept {
    const std::size_t begin = text.written().size();
    text.add("{\"name\": \"");
    text.add_plain(span.name);
    text.add("\", \"cat\": \"");
    text.add(category_of(span.kind));
    text.add("\", \"ph\": \"");
    const std::size_t phase = text.written().size();
    text.add("b\", \"id\": \"0x");
    text.add_hex(span.context.span);
    text.add("\", \"pid\": ");
    text.add_number(process);
    text.add(", \"tid\": 0, \"ts\": ");
    const std::size_t head_end = text.written().size();
    text.add_number(span.began_unix_us);
    add_arguments(text, span, peer);
    text.add("},\n");
    text.repeat(begin, head_end, phase, 'e');
    text.add_number(span.began_unix_us + span.took_us);
    text.add("}");
}

}  // namespace

Result<std::shared_ptr<TraceFile>> TraceFile::make(const std::string& path, SpanExporterOptions options,
                                                   TimeSource& clock) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return Error(errc_from_errno(errno), "the trace file cannot be made", path, errno);
    return std::shared_ptr<TraceFile>(new TraceFile(std::move(file), options, clock));
}

TraceFile::TraceFile(UniqueFd file, SpanExporterOptions options, TimeSource& clock)
    : SpanExporter(options, clock), file_(std::move(file)), text_(std::make_unique_for_overwrite<TraceText>()) {}

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

// Viewers accept an array without its closing bracket, so the file can be read while it grows, and after a crash.
void TraceFile::export_spans(const std::vector<SpanRecord>& spans) {
    const auto process = static_cast<std::uint64_t>(::getpid());
    for (const SpanRecord& span : spans) {
        if (text_->room() < span_bytes_max) write_text();
        if (!(span.peer == peer_)) {
            peer_ = span.peer;
            peer_name_ = peer_.empty() ? std::string() : TraceText::plain(peer_.log_name());
        }
        text_->add(begun_ ? ",\n" : "[\n");
        add_events(*text_, span, peer_name_, process);
        begun_ = true;
        ++unwritten_;
    }
    write_text();
}

}  // namespace cinnabar::hl
