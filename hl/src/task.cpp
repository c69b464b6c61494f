// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/task.hpp>

namespace cinnabar::hl {

StopScope* TaskContext::stop_scope() const noexcept {
    if (stop) return stop;
    return request ? &request->stop_scope() : nullptr;
}

namespace detail {

Error error_of_exception() noexcept {
    try {
        throw;
    } catch (const BadResult& bad) {
        return bad.error();
    } catch (const std::exception& thrown) {
        return Error(Errc::handler_failed, "an exception escaped", thrown.what());
    } catch (...) {
        return Error(Errc::handler_failed, "an exception escaped");
    }
}

void log_exception(std::string_view whom) noexcept {
    const std::string text = error_of_exception().message();
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::error, "hl", "%.*s threw: %s", static_cast<int>(whom.size()), whom.data(),
                text.c_str());
}

}  // namespace detail
}  // namespace cinnabar::hl
