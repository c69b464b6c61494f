/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_time.h>
#include <string.h>

static hg_time_t make(long seconds, long nanoseconds) {
    hg_time_t tv;
    tv.tv_sec = seconds;
    tv.tv_nsec = nanoseconds;
    return tv;
}

static int is(hg_time_t tv, long seconds, long nanoseconds) {
    return tv.tv_sec == seconds && tv.tv_nsec == nanoseconds;
}

static void sums_carry(void) {
    CHECK(is(hg_time_add(make(1, 600000000), make(2, 600000000)), 4, 200000000));
    CHECK(is(hg_time_add(make(1, 600000000), make(2, 400000000)), 4, 0));
    CHECK(is(hg_time_subtract(make(4, 200000000), make(2, 600000000)), 1, 600000000));
    CHECK(hg_time_diff(make(4, 500000000), make(2, 0)) == 2.5);
    CHECK(hg_time_less(make(1, 5), make(2, 0)) && hg_time_less(make(1, 5), make(1, 6)));
    CHECK(!hg_time_less(make(1, 6), make(1, 6)) && !hg_time_less(make(2, 0), make(1, 9)));
}

static void units_convert(void) {
    CHECK(is(hg_time_from_ms(12345), 12, 345000000) && hg_time_to_ms(make(12, 345000000)) == 12345);
    CHECK(hg_time_to_ms(make(0, 1)) == 1 && hg_time_to_ms(make(0, 0)) == 0);
    CHECK(is(hg_time_from_double(1.5), 1, 500000000) && hg_time_to_double(make(1, 250000000)) == 1.25);
}

static void clock_goes_on(void) {
    hg_time_t before, after, coarse;
    CHECK(hg_time_get_current(&before) == HG_UTIL_SUCCESS);
    CHECK(hg_time_sleep(hg_time_from_ms(20)) == HG_UTIL_SUCCESS);
    CHECK(hg_time_get_current_ms(&coarse) == HG_UTIL_SUCCESS && hg_time_get_current(&after) == HG_UTIL_SUCCESS);
    CHECK(hg_time_diff(after, before) >= 0.02 && !hg_time_less(after, coarse) && hg_time_less(before, coarse));
    CHECK(hg_time_sleep(make(0, 1000000000)) == HG_UTIL_FAIL);
}

int main(void) {
    sums_carry();
    units_convert();
    clock_goes_on();
    CHECK(strlen(hg_time_stamp()) > 20 && strchr(hg_time_stamp(), ':') != NULL);
    return EXIT_SUCCESS;
}
