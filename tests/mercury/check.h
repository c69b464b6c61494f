/* SPDX-License-Identifier: BSD-3-Clause */
/* Fails a C test with the text of the condition. */
#ifndef TESTS_MERCURY_CHECK_H
#define TESTS_MERCURY_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the test with exit status 1 if the condition does not hold. */
#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            exit(EXIT_FAILURE);                                                                  \
        }                                                                                        \
    } while (0)

#endif /* TESTS_MERCURY_CHECK_H */
