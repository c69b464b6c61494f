// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/hex.hpp>
#include <cinnabar/hl/trace_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace cinnabar::hl {
namespace {

std::string_view category_of(SpanKind kind) noexcept {
    constexpr std::array<std::string_view, 3> names{"call", "handler", "transfer"};
    return names[static_cast<std::size_t>(kind)];
}

// Peers choose names and addresses, so all characters that would need escaping are dropped.
void append_plain(std::string& text, std::string_view more) {
    for (const char c : more) {
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') text += c;
    }
}

// One end of an asynchronous slice; these may overlap without nesting. `phase`: 'b' begins it, 'e' ends it.
void append_event(std::string& text, const SpanRecord& span, char phase, std::uint64_t at_us) {
    text.append("{\"name\": \"");
    append_plain(text, span.name);
    text.append("\", \"cat\": \"").append(category_of(span.kind)).append("\", \"ph\": \"").append(1, phase);
    text.append("\", \"id\": \"0x").append(to_hex(span.context.span)).append("\", \"pid\": ");
    text.append(std::to_string(::getpid())).append(", \"tid\": 0, \"ts\": ").append(std::to_string(at_us));
    if (phase == 'b') {
        text.append(", \"args\": {\"trace\": \"").append(to_hex(span.context.id[0])).append(to_hex(span.context.id[1]));
        text.append("\", \"span\": \"").append(to_hex(span.context.span));
        text.append("\", \"parent\": \"").append(span.parent == 0 ? std::string() : to_hex(span.parent));
        text.append("\", \"peer\": \"");
        if (!span.peer.empty()) append_plain(text, span.peer.to_string());
        text.append("\", \"result\": \"").append(to_string(span.result)).append("\"");
        if (span.bytes != 0) text.append(", \"bytes\": ").append(std::to_string(span.bytes));
        for (std::size_t part = 0; is_timed(span) && part < call_parts; ++part) {
            text.append(", \"us ").append(to_string(static_cast<CallPart>(part))).append("\": ");
            text.append(std::to_string(span.parts_us[part]));
        }
        text.append("}");
    }
    text += '}';
}

}  // namespace

Result<std::shared_ptr<TraceFile>> TraceFile::make(const std::string& path, SpanExporterOptions options,
                                                   TimeSource& clock) {
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return Error(errc_from_errno(errno), "the trace file cannot be made", path, errno);
    return std::shared_ptr<TraceFile>(new TraceFile(std::move(file), options, clock));
}

TraceFile::TraceFile(UniqueFd file, SpanExporterOptions options, TimeSource& clock)
    : SpanExporter(options, clock), file_(std::move(file)) {}

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

// Viewers accept an array without its closing bracket, so the file can be read while it grows, and after a crash.
void TraceFile::export_spans(const std::vector<SpanRecord>& spans) {
    std::string text;
    for (const SpanRecord& span : spans) {
        text.append(begun_ ? ",\n" : "[\n");
        append_event(text, span, 'b', span.began_unix_us);
        text.append(",\n");
        append_event(text, span, 'e', span.began_unix_us + span.took_us);
        begun_ = true;
    }
    if (failure() != 0 || !write(text)) count_dropped(spans.size());
}

}  // namespace cinnabar::hl
