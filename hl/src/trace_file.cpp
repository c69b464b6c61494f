// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/hex.hpp>
#include <cinnabar/hl/trace_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

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

void append_number(std::string& text, std::uint64_t number) {
    std::array<char, 20> digits;  // digits of the largest number
    text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

void append_arguments(std::string& text, const SpanRecord& span) {
    text.append(", \"args\": {\"trace\": \"");
    append_hex(text, span.context.id[0]);
    append_hex(text, span.context.id[1]);
    text.append("\", \"span\": \"");
    append_hex(text, span.context.span);
    text.append("\", \"parent\": \"");
    if (span.parent != 0) append_hex(text, span.parent);
    text.append("\", \"peer\": \"");
    if (!span.peer.empty()) append_plain(text, span.peer.to_string());
    text.append("\", \"result\": \"").append(to_string(span.result)).append("\"");
    if (span.bytes != 0) append_number(text.append(", \"bytes\": "), span.bytes);
    for (std::size_t part = 0; is_timed(span) && part < call_parts; ++part) {
        text.append(", \"us ").append(to_string(static_cast<CallPart>(part))).append("\": ");
        append_number(text, span.parts_us[part]);
    }
    text.append("}");
}

// The beginning and the end of an asynchronous slice. Such slices may overlap without nesting.
void append_events(std::string& text, const SpanRecord& span, std::uint64_t process) {
    const std::size_t begin = text.size();
    text.append("{\"name\": \"");
    append_plain(text, span.name);
    text.append("\", \"cat\": \"").append(category_of(span.kind)).append("\", \"ph\": \"");
    const std::size_t phase = text.size();
    text.append("b\", \"id\": \"0x");
    append_hex(text, span.context.span);
    append_number(text.append("\", \"pid\": "), process);
    text.append(", \"tid\": 0, \"ts\": ");
    const std::size_t head_bytes = text.size() - begin;
    append_number(text, span.began_unix_us);
    append_arguments(text, span);
    text.append("},\n");
    const std::size_t end = text.size();
    text.append(text, begin, head_bytes);
    text[end + phase - begin] = 'e';
    append_number(text, span.began_unix_us + span.took_us);
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
    const auto process = static_cast<std::uint64_t>(::getpid());
    text_.clear();
    for (const SpanRecord& span : spans) {
        text_.append(begun_ ? ",\n" : "[\n");
        append_events(text_, span, process);
        begun_ = true;
    }
    if (failure() != 0 || !write(text_)) count_dropped(spans.size());
}

}  // namespace cinnabar::hl
