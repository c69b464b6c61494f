// SPDX-License-Identifier: BSD-3-Clause
#include "commands/manager.hpp"

#include "commands/session.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <utility>

namespace cinnabar::tools {

std::string checksum_text(std::uint64_t checksum) { return fmt::format("xxh3:{:016x}", checksum); }

Manager::Manager(const ManageOptions& options, std::string server) : options_(options), server_(std::move(server)) {}

hl::Task<Result<void>> Manager::each(files::Client& session, const std::vector<std::string>& names, Step step) {
    for (const auto& name : names) {
        Result<void> done = co_await step(*this, session, name);
        if (done) continue;
        if (ends_all(done.code())) {
            lost_ = true;
            co_return done;
        }
        if (!server_.empty() && done.code() == Errc::not_found)
            missing_.insert(name);
        else
            fail(name, done.error());
    }
    co_return Result<void>();
}

void Manager::print(const std::string& text, JsonObject object) const {
    if (options_.json) {
        if (!server_.empty()) object.name("server", server_);
        return print_line(object.line());
    }
    print_line(server_.empty() ? text : printable(server_) + ": " + text);
}

void Manager::fail(const std::string& name, const Error& error) {
    if (exit_ == ExitCode::ok) exit_ = exit_code(error.code);
    if (options_.json) {
        JsonObject object;
        return print({}, object.text("event", "failed").name("name", name).failure(error));
    }
    const auto at = server_.empty() ? std::string() : printable(server_) + ": ";
    complain(at + printable(name) + ": " + explain(error, name));
}

void Manager::note_checksum(const std::string& name, std::uint64_t checksum) {
    constexpr std::size_t compared_max = 1'000'000;  // bounds the memory used, since a server can invent names
    if (!server_.empty() && checksums_.size() < compared_max) checksums_[name] = checksum;
}

}  // namespace cinnabar::tools
