/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_dlog.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static char written[4096];

static int write_here(FILE* stream, const char* format, ...) {
    const size_t used = strlen(written);
    va_list arguments;
    int length;
    (void)stream;
    va_start(arguments, format);
    length = vsnprintf(written + used, sizeof(written) - used, format, arguments);
    va_end(arguments);
    return length;
}

static const char* dump(struct hg_dlog* log) {
    written[0] = '\0';
    hg_dlog_dump(log, write_here, NULL, 0);
    return written;
}

static void ring_keeps_the_last(void) {
    char name[] = "a name that is long";
    static const char* const messages[] = {"first", "second", "third"};
    int i;
    struct hg_dlog* log = hg_dlog_alloc(name, 2, 1);
    CHECK(log != NULL && memcmp(log->dlog_magic, HG_DLOG_STDMAGIC, 8) == 0);
    for (i = 0; i < 3; ++i) CHECK(hg_dlog_addlog(log, "file.c", 10 + i, "function", messages[i], log) == 1);
    CHECK(strstr(dump(log), "first") == NULL);
    CHECK(strstr(written, "file.c:11 function() second") < strstr(written, "file.c:12 function() third"));
    CHECK(strstr(written, "second") != NULL);
    hg_dlog_setlogstop(log, 1);
    CHECK(hg_dlog_addlog(log, "file.c", 13, "function", "fourth", NULL) == 0);
    hg_dlog_setlogstop(log, 0);
    hg_dlog_resetlog(log);
    CHECK(strstr(dump(log), "third") == NULL);
    hg_dlog_free(log);
}

static void other_logs_fill_up(void) {
    char name[] = "full";
    struct hg_dlog* log = hg_dlog_alloc(name, 1, 0);
    CHECK(log != NULL);
    CHECK(hg_dlog_addlog(log, "f", 1, "f", NULL, NULL) == 1 && hg_dlog_addlog(log, "f", 1, "f", NULL, NULL) == 0);
    hg_dlog_free(log);
}

static struct hg_dlog_entry entries[4];
static struct hg_dlog static_log = HG_DLOG_INITIALIZER("static", static_log, entries, 4, 1);

static void counters_are_named(void) {
    hg_atomic_int32_t *small = NULL, *again;
    hg_atomic_int64_t* large = NULL;
    hg_dlog_mkcount32(&static_log, &small, "small", "a small one");
    hg_dlog_mkcount64(&static_log, &large, "large", "a large one");
    CHECK(small != NULL && large != NULL && hg_atomic_get32(small) == 0 && hg_atomic_get64(large) == 0);
    again = small;
    hg_dlog_mkcount32(&static_log, &small, "small", "a small one");
    CHECK(small == again);
    hg_atomic_set32(small, 42);
    hg_atomic_set64(large, INT64_C(1) << 40);
    written[0] = '\0';
    hg_dlog_dump_counters(&static_log, write_here, NULL, 1);
    CHECK(strstr(written, "small: 42 [a small one]") != NULL);
    CHECK(strstr(written, "large: 1099511627776 [a large one]") != NULL);
    hg_dlog_rmcount32(&static_log, small);
    CHECK(strstr(dump(&static_log), "small") == NULL && strstr(written, "large") != NULL);
    hg_dlog_rmcount64(&static_log, large);
    hg_dlog_mkcount64(&static_log, &large, "kept", "freed with the log");
}

static void locked_logs_are_left_alone(void) {
    written[0] = '\0';
    hg_thread_mutex_lock(&static_log.dlock);
    hg_dlog_dump(&static_log, write_here, NULL, 1);
    hg_thread_mutex_unlock(&static_log.dlock);
    CHECK(written[0] == '\0');
}

static void files_are_named_by_base_and_process(void) {
    char path[64];
    FILE* file;
    (void)snprintf(path, sizeof(path), "dlog_test-%d.log", (int)getpid());
    hg_dlog_dump_file(&static_log, "dlog_test", 1, 0);
    file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(written, sizeof(written), file) != NULL && strstr(written, "static") != NULL);
    CHECK(fclose(file) == 0 && unlink(path) == 0);
    hg_dlog_dump_file(&static_log, "no/such/folder", 0, 0); /* reports that, and continues */
}

int main(void) {
    ring_keeps_the_last();
    other_logs_fill_up();
    counters_are_named();
    locked_logs_are_left_alone();
    files_are_named_by_base_and_process();
    hg_dlog_free(&static_log);
    return EXIT_SUCCESS;
}
