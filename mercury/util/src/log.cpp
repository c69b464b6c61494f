// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_log.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

HG_LOG_OUTLET_DECL(HG_LOG_OUTLET_ROOT_NAME) = HG_LOG_OUTLET_INITIALIZER(HG_LOG_OUTLET_ROOT_NAME, HG_LOG_OFF, nullptr,
                                                                        nullptr);

namespace {

struct Level {
    const char* name;
    const char* short_name;
};

constexpr std::array<Level, HG_LOG_LEVEL_MAX + 1> levels{{{"", ""},
                                                          {"fatal", "ftl"},
                                                          {"error", "err"},
                                                          {"warning", "warn"},
                                                          {"min_debug", "trace"},
                                                          {"info", "inf"},
                                                          {"debug", "dbg"},
                                                          {"", ""}}};

constexpr std::size_t line_bytes_max = 1024;

struct Log {
    std::mutex mutex;  // guards the three below, and the levels in the outlets
    STAILQ_HEAD(, hg_log_outlet) outlets = STAILQ_HEAD_INITIALIZER(outlets);
    std::vector<std::string> subsystems;
    hg_log_level level = HG_LOG_LEVEL_NONE;

    std::atomic<hg_log_func_t> write{std::fprintf};
    std::atomic<FILE*> errors{nullptr};
    std::atomic<FILE*> warnings{nullptr};
    std::atomic<FILE*> debug{nullptr};

    Log();

    // 1 if the name is in the list, -1 if it is there with a "~", else 0.
    [[nodiscard]] int named(std::string_view name) const {
        for (const std::string& subsystem : subsystems) {
            if (subsystem == name) return 1;
            if (subsystem.starts_with('~') && std::string_view(subsystem).substr(1) == name) return -1;
        }
        return 0;
    }

    [[nodiscard]] hg_log_level level_of(const hg_log_outlet& outlet) const {
        const int listed = named(outlet.name);
        if (listed > 0 || outlet.state == HG_LOG_ON) return level;
        const bool as_parent = listed == 0 && outlet.state == HG_LOG_PASS && outlet.parent != nullptr;
        return as_parent ? level_of(*outlet.parent) : HG_LOG_LEVEL_NONE;
    }

    // Requires: the mutex is held.
    void update_all() const {
        hg_log_outlet* outlet;
        STAILQ_FOREACH(outlet, &outlets, entry) {
            __atomic_store_n(&outlet->level, level_of(*outlet), __ATOMIC_RELAXED);
        }
    }

    // If it throws bad_alloc, nothing has changed.
    void set_subsystems(std::string_view list) {
        std::vector<std::string> parts;
        while (!list.empty()) {
            const auto comma = std::min(list.find(','), list.size());
            const std::string_view part = list.substr(0, comma);
            if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end()) parts.emplace_back(part);
            list.remove_prefix(std::min(comma + 1, list.size()));
        }
        subsystems = std::move(parts);
    }
};

// Never destroyed: outlets are deregistered during exit.
Log& the_log() {
    static Log& log = *new Log;
    return log;
}

Log::Log() {
    const char* const wanted = std::getenv("HG_LOG_LEVEL");
    level = wanted != nullptr ? hg_log_name_to_level(wanted) : HG_LOG_LEVEL_FATAL;
    const char* const subsys = std::getenv("HG_LOG_SUBSYS");
    set_subsystems(subsys != nullptr ? subsys : "hg_all");
    hg_log_outlet& root = HG_LOG_OUTLET(HG_LOG_OUTLET_ROOT_NAME);
    STAILQ_INSERT_TAIL(&outlets, &root, entry);
    root.registered = true;
    update_all();
}

FILE* stream_of(hg_log_level level) {
    if (level <= HG_LOG_LEVEL_ERROR) return hg_log_get_stream_error();
    return level == HG_LOG_LEVEL_WARNING ? hg_log_get_stream_warning() : hg_log_get_stream_debug();
}

FILE* or_standard(FILE* stream, FILE* standard) { return stream != nullptr ? stream : standard; }

// Catches bad_alloc, because a program should not end because a subsystem could not be switched on.
template <class Change>
void change(Change change) {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    try {
        change(log);
    } catch (const std::bad_alloc&) {
        (void)std::fprintf(stderr, "no memory for the list of logged subsystems; it is unchanged\n");
    }
    log.update_all();
}

}  // namespace

void hg_log_set_level(enum hg_log_level log_level) {
    change([&](Log& log) { log.level = log_level; });
}

enum hg_log_level hg_log_get_level(void) {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    return log.level;
}

void hg_log_set_subsys(const char* log_subsys) {
    change([&](Log& log) { log.set_subsystems(log_subsys); });
}

const char* hg_log_get_subsys(void) try {
    thread_local std::string list;
    list.clear();
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    for (const std::string& subsystem : log.subsystems) list.append(list.empty() ? "" : ",").append(subsystem);
    return list.c_str();
} catch (const std::bad_alloc&) {
    return "";
}

void hg_log_set_subsys_level(const char* subsys, enum hg_log_level log_level) {
    change([&](Log& log) {
        log.level = log_level;
        if (log.named(subsys) > 0) return;
        log.subsystems.emplace_back(subsys);
        std::erase(log.subsystems, std::string("~") + subsys);
    });
}

enum hg_log_level hg_log_name_to_level(const char* log_level) {
    if (log_level == nullptr || strcasecmp(log_level, "none") == 0) return HG_LOG_LEVEL_NONE;
    for (int level = HG_LOG_LEVEL_FATAL; level < HG_LOG_LEVEL_MAX; ++level) {
        const auto& names = levels[static_cast<unsigned>(level)];
        if (strcasecmp(log_level, names.name) == 0 || strcasecmp(log_level, names.short_name) == 0) {
            return static_cast<hg_log_level>(level);
        }
    }
    (void)std::fprintf(stderr, "'%s' is no log level, so nothing is logged\n", log_level);
    return HG_LOG_LEVEL_NONE;
}

const char* hg_log_level_to_string(enum hg_log_level level) {
    return level >= HG_LOG_LEVEL_NONE && level < HG_LOG_LEVEL_MAX ? levels[level].name : "";
}

void hg_log_set_func(hg_log_func_t log_func) { the_log().write = log_func != nullptr ? log_func : std::fprintf; }

hg_log_func_t hg_log_get_func(void) { return the_log().write; }

void hg_log_set_stream_error(FILE* stream) { the_log().errors = stream; }

FILE* hg_log_get_stream_error(void) { return or_standard(the_log().errors, stderr); }

void hg_log_set_stream_warning(FILE* stream) { the_log().warnings = stream; }

FILE* hg_log_get_stream_warning(void) { return or_standard(the_log().warnings, stdout); }

void hg_log_set_stream_debug(FILE* stream) { the_log().debug = stream; }

FILE* hg_log_get_stream_debug(void) { return or_standard(the_log().debug, stdout); }

void hg_log_outlet_register(struct hg_log_outlet* outlet) {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    if (outlet->registered) return;
    STAILQ_INSERT_TAIL(&log.outlets, outlet, entry);
    outlet->registered = true;
    log.update_all();
}

void hg_log_outlet_deregister(struct hg_log_outlet* outlet) {
    Log& log = the_log();
    const std::lock_guard lock(log.mutex);
    if (!outlet->registered) return;
    STAILQ_REMOVE(&log.outlets, outlet, hg_log_outlet, entry);
    outlet->registered = false;
    const bool shared = outlet->parent != nullptr && outlet->parent->debug_log == outlet->debug_log;
    if (outlet->debug_log != nullptr && !shared) hg_dlog_free(outlet->debug_log);
}

void hg_log_dump_counters(struct hg_log_outlet* hg_log_outlet) {
    if (hg_log_outlet->debug_log == nullptr) return;
    hg_dlog_dump_counters(hg_log_outlet->debug_log, hg_log_get_func(), hg_log_get_stream_debug(), 0);
}

void hg_log_write(struct hg_log_outlet* hg_log_outlet, enum hg_log_level log_level, const char* module,
                  const char* file, unsigned int line, const char* func, bool no_return, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    hg_log_vwrite(hg_log_outlet, log_level, module, file, line, func, no_return, format, arguments);
    va_end(arguments);
}

void hg_log_vwrite(struct hg_log_outlet* hg_log_outlet, enum hg_log_level log_level, const char* module,
                   const char* file, unsigned int line, const char* func, bool no_return, const char* format,
                   va_list ap) {
    if (log_level <= HG_LOG_LEVEL_NONE || log_level >= HG_LOG_LEVEL_MAX) return;
    char text[line_bytes_max];
    (void)std::vsnprintf(text, sizeof(text), format, ap);
    hg_time_t now{};
    (void)hg_time_get_current(&now);
    FILE* const stream = stream_of(log_level);
    const hg_log_func_t write = hg_log_get_func();
    (void)write(stream, "# [%lf] mercury->%s [%s] %s%s%s:%u %s() %s%s", hg_time_to_double(now), hg_log_outlet->name,
                levels[log_level].name, module != nullptr ? module : "", module != nullptr ? ":" : "", file, line, func,
                text, no_return ? "" : "\n");
    // An error dumps the debug log.
    if (log_level <= HG_LOG_LEVEL_ERROR && hg_log_outlet->debug_log != nullptr &&
        __atomic_load_n(&hg_log_outlet->level, __ATOMIC_RELAXED) >= HG_LOG_LEVEL_MIN_DEBUG) {
        hg_dlog_dump(hg_log_outlet->debug_log, write, stream, 0);
        hg_dlog_resetlog(hg_log_outlet->debug_log);
    }
}
