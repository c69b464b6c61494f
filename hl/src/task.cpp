// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/task.hpp>

#include <new>

namespace cinnabar::hl {

StopScope* TaskContext::stop_scope() const noexcept {
    if (stop) return stop;
    return request ? &request->stop_scope() : nullptr;
}

namespace detail {

namespace {

constexpr std::string_view escaped = "an exception escaped";

Error current_error() {
    try {
        throw;
    } catch (const BadResult& bad) {
        return bad.error();
    } catch (const std::exception& thrown) {
        return Error(Errc::handler_failed, escaped, thrown.what());
    } catch (...) {
        return Error(Errc::handler_failed, escaped);
    }
}

}  // namespace

Error error_of_exception() noexcept {
    try {
        return current_error();
    } catch (const std::bad_alloc&) {
        return Error(Errc::handler_failed, escaped);  // without its text, for which there is no memory
    }
}

void log_exception(std::string_view whom) noexcept {
    const Error thrown = error_of_exception();
    const std::string text = thrown.message();
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::error, "hl", {error_field(thrown.code)}, "%.*s threw: %s",
                static_cast<int>(whom.size()), whom.data(), text.c_str());
}

}  // namespace detail
}  // namespace cinnabar::hl
