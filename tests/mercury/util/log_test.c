/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_log.h>
#include <mercury_thread.h>
#include <stdarg.h>
#include <string.h>

static HG_LOG_DECL_REGISTER(app);
static HG_LOG_SUBSYS_DECL_REGISTER(net, app);
static HG_LOG_SUBSYS_DECL_STATE_REGISTER(noise, app, HG_LOG_OFF);
static HG_LOG_DEBUG_DECL_LE(deep, 8);
static HG_LOG_DEBUG_DECL_DLOG(deep) = HG_LOG_DLOG_INITIALIZER(deep, 8);
static HG_LOG_DLOG_DECL_REGISTER(deep);

static char written[8192];
static FILE* written_to;

static int write_here(FILE* stream, const char* format, ...) {
    const size_t used = strlen(written);
    va_list arguments;
    int length;
    written_to = stream;
    va_start(arguments, format);
    length = vsnprintf(written + used, sizeof(written) - used, format, arguments);
    va_end(arguments);
    return length;
}

/* The levels at which the three outlets write, as digits. */
static int levels(void) {
    return 100 * HG_LOG_OUTLET_LEVEL(app) + 10 * HG_LOG_OUTLET_LEVEL(app_net) + HG_LOG_OUTLET_LEVEL(app_noise);
}

static void environment_is_heard(void) {
    CHECK(hg_log_get_level() == HG_LOG_LEVEL_WARNING);
    CHECK(strcmp(hg_log_get_subsys(), "app,~net") == 0);
    CHECK(levels() == 100 * HG_LOG_LEVEL_WARNING);
}

static void children_follow_their_parents(void) {
    const int error = HG_LOG_LEVEL_ERROR, debug = HG_LOG_LEVEL_DEBUG;
    hg_log_set_subsys("hg_all");
    hg_log_set_level(HG_LOG_LEVEL_ERROR);
    CHECK(levels() == 110 * error);
    hg_log_set_subsys("hg_all,noise,~net,noise,,");
    CHECK(strcmp(hg_log_get_subsys(), "hg_all,noise,~net") == 0);
    CHECK(levels() == 101 * error);
    hg_log_set_subsys_level("net", HG_LOG_LEVEL_DEBUG);
    CHECK(hg_log_get_level() == HG_LOG_LEVEL_DEBUG && levels() == 111 * debug);
    CHECK(strcmp(hg_log_get_subsys(), "hg_all,noise,net") == 0);
    hg_log_set_subsys("");
    CHECK(levels() == 0 && strcmp(hg_log_get_subsys(), "") == 0);
}

static void levels_have_names(void) {
    CHECK(hg_log_name_to_level("Error") == HG_LOG_LEVEL_ERROR && hg_log_name_to_level("warn") == HG_LOG_LEVEL_WARNING);
    CHECK(hg_log_name_to_level("dbg") == HG_LOG_LEVEL_DEBUG && hg_log_name_to_level("none") == HG_LOG_LEVEL_NONE);
    CHECK(hg_log_name_to_level(NULL) == HG_LOG_LEVEL_NONE && hg_log_name_to_level("shout") == HG_LOG_LEVEL_NONE);
    CHECK(strcmp(hg_log_level_to_string(HG_LOG_LEVEL_MIN_DEBUG), "min_debug") == 0);
}

static void vwrite(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    HG_LOG_VWRITE_FUNC(app, HG_LOG_LEVEL_ERROR, "module", "f.c", 7, "g", true, format, arguments);
    va_end(arguments);
}

static void lines_say_where_they_come_from(void) {
    hg_log_set_subsys("app");
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    hg_log_set_func(write_here);
    CHECK(hg_log_get_func() == write_here);
    HG_LOG_WRITE(app, HG_LOG_LEVEL_DEBUG, "not %s", "this");
    CHECK(written[0] == '\0');
    HG_LOG_WRITE(app, HG_LOG_LEVEL_WARNING, "%d apples", 3);
    CHECK(strstr(written, "->app [warning] ") != NULL && strstr(written, "log_test.c:") != NULL);
    CHECK(strstr(written, "lines_say_where_they_come_from() 3 apples\n") != NULL && written_to == stdout);
    written[0] = '\0';
    HG_LOG_SUBSYS_WRITE(net, app, HG_LOG_LEVEL_ERROR, "lost");
    CHECK(strstr(written, "->net [error] ") != NULL && written_to == stderr);
    written[0] = '\0';
    vwrite("%d pears", 4);
    CHECK(strstr(written, "module:f.c:7 g() 4 pears") != NULL && strchr(written, '\n') == NULL);
    written[0] = '\0';
    hg_log_set_level(HG_LOG_LEVEL_DEBUG);
    HG_LOG_WRITE_DEBUG_EXT(app, "header", "%s\n", "body");
    CHECK(strstr(written, "header\nbody\n---\n") != NULL);
}

static void streams_can_be_changed(void) {
    CHECK(hg_log_get_stream_debug() == stdout && hg_log_get_stream_error() == stderr);
    hg_log_set_stream_debug(stderr);
    hg_log_set_stream_warning(stderr);
    hg_log_set_stream_error(stdout);
    CHECK(hg_log_get_stream_debug() == stderr && hg_log_get_stream_warning() == stderr);
    HG_LOG_WRITE(app, HG_LOG_LEVEL_ERROR, "there");
    CHECK(written_to == stdout);
    hg_log_set_stream_debug(NULL);
    hg_log_set_stream_warning(NULL);
    hg_log_set_stream_error(NULL);
}

static void errors_show_what_came_before(void) {
    hg_atomic_int32_t* apples = NULL;
    hg_log_set_subsys("deep");
    hg_log_set_level(HG_LOG_LEVEL_MIN_DEBUG);
    HG_LOG_ADD_COUNTER32(deep, &apples, "apples", "how many");
    hg_atomic_set32(apples, 5);
    written[0] = '\0';
    HG_LOG_WRITE(deep, HG_LOG_LEVEL_DEBUG, "kept, not written");
    CHECK(written[0] == '\0');
    HG_LOG_WRITE(deep, HG_LOG_LEVEL_ERROR, "broken");
    CHECK(strstr(written, "broken") != NULL && strstr(written, "apples: 5") != NULL);
    CHECK(strstr(written, "entries of deep: 1") != NULL);
    written[0] = '\0';
    hg_log_dump_counters(&HG_LOG_OUTLET(deep));
    CHECK(strstr(written, "apples: 5 [how many]") != NULL);
    hg_log_dump_counters(&HG_LOG_OUTLET(app));
}

static int drop(FILE* stream, const char* format, ...) {
    (void)format;
    return stream != NULL;
}

static void* write_much(void* data) {
    int i;
    for (i = 0; i < 500; ++i) HG_LOG_SUBSYS_WRITE(net, app, HG_LOG_LEVEL_ERROR, "%d", i);
    return data;
}

static void levels_change_under_way(void) {
    hg_thread_t thread;
    int i;
    hg_log_set_func(drop);
    CHECK(hg_thread_create(&thread, write_much, NULL) == HG_UTIL_SUCCESS);
    for (i = 0; i < 500; ++i)
        hg_log_set_subsys_level(i % 2 ? "app" : "net", i % 2 ? HG_LOG_LEVEL_ERROR : HG_LOG_LEVEL_NONE);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS);
    hg_log_set_func(NULL);
    CHECK(hg_log_get_func() == fprintf);
}

int main(void) {
    environment_is_heard();
    children_follow_their_parents();
    levels_have_names();
    lines_say_where_they_come_from();
    streams_can_be_changed();
    errors_show_what_came_before();
    levels_change_under_way();
    return EXIT_SUCCESS;
}
