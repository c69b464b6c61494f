// SPDX-License-Identifier: BSD-3-Clause
#include "commands/server_messages.hpp"

#include "terminal/json.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>
#include <unistd.h>

namespace cinnabar::tools {
namespace {

std::string_view name_of(files::ServerEvent::Kind kind) {
    switch (kind) {
        case files::ServerEvent::Kind::saved:
            return "saved";
        case files::ServerEvent::Kind::fetched:
            return "fetched";
        case files::ServerEvent::Kind::failed:
            return "failed";
        case files::ServerEvent::Kind::removed:
            return "removed";
        case files::ServerEvent::Kind::refused:
            return "refused";
    }
    return "unknown";
}

Outlet::Line dropped_line(const ServeOptions& options, std::uint64_t count) {
    if (!options.json)
        return {STDERR_FILENO, fmt::format("cinnabar: {} messages dropped here: read them faster\n", count)};
    JsonObject object;
    object.text("event", "dropped").number("count", count);
    return {STDOUT_FILENO, object.line() + "\n"};
}

std::string json_of(const files::ServerEvent& event) {
    JsonObject object;
    object.text("event", name_of(event.kind)).name("name", event.name).text("client", event.client);
    if (event.error) {
        object.failure(*event.error);
    } else {
        object.number("bytes", event.bytes);
        if (event.checksum) object.text("checksum", fmt::format("xxh3:{:016x}", *event.checksum));
    }
    return object.line();
}

}  // namespace

ServerMessages::ServerMessages(const ServeOptions& options, TimeSource& clock)
    : options_(options),
      clock_(clock),
      outlet_([&options](std::uint64_t count) { return dropped_line(options, count); }) {
    set_log_sink(&ServerMessages::take_log, this);
}

ServerMessages::~ServerMessages() { set_log_sink(nullptr, nullptr); }

void ServerMessages::complain(const std::string& text) { outlet_.tell({STDERR_FILENO, "cinnabar: " + text + "\n"}); }

void ServerMessages::take_log(const LogLine& line, void* user) {
    auto& self = *static_cast<ServerMessages*>(user);
    if (!self.options_.json)
        return self.complain(fmt::format("{}: {}: {}", to_string(line.level), line.module, printable(line.text)));
    JsonObject object;
    object.text("event", "log").text("level", to_string(line.level)).text("module", line.module);
    if (line.left_out != 0) object.number("left_out", line.left_out);
    for (const LogField& field : line.fields) {
        if (field.key() == "event") continue;  // that is what kind of message it is
        if (field.is_number()) {
            object.number(field.key(), field.number());
        } else {
            object.text(field.key(), field.text());
        }
    }
    self.print(object.text("text", line.text).line());
}

bool ServerMessages::may_tell_refusal() {
    const TimeUs now = clock_.now_us();
    if (now >= second_ends_) {
        const auto untold = refusals_ > refusals_told_max ? refusals_ - refusals_told_max : 0;
        second_ends_ = after(now, std::chrono::seconds(1));
        refusals_ = 0;
        if (untold > 0 && options_.json) {
            JsonObject object;
            object.text("event", "refused_more").number("count", untold);
            print(object.line());
        } else if (untold > 0) {
            complain(fmt::format("refused {} more sessions", untold));
        }
    }
    return ++refusals_ <= refusals_told_max;
}

void ServerMessages::tell(const files::ServerEvent& event) {
    if (event.kind == files::ServerEvent::Kind::refused && !may_tell_refusal()) return;
    if (options_.json) return print(json_of(event));
    if (options_.verbose || event.kind == files::ServerEvent::Kind::refused) tell_people(event);
}

void ServerMessages::tell_people(const files::ServerEvent& event) {
    const auto name = event.name.empty() ? std::string("a session") : printable(event.name);
    const auto outcome = event.error ? explain(*event.error, event.name) : fmt::format("{} bytes", event.bytes);
    complain(fmt::format("{} {} for {}: {}", name_of(event.kind), name, printable(event.client), outcome));
}

void ServerMessages::ready(const std::string& address, const std::vector<std::string>& endpoints) {
    if (!options_.json) return print("listening on " + address);
    std::string list = "[";
    for (const auto& endpoint : endpoints) list += (list.size() > 1 ? ", " : "") + json_string(endpoint);
    JsonObject object;
    object.text("event", "listening").text("address", address).raw("endpoints", list + "]").name("root", options_.root);
    print(object.line());
}

}  // namespace cinnabar::tools
