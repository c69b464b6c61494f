/* What the examples share: a server in a child process, its address, and a loop that makes progress. */
#ifndef CINNABAR_EXAMPLES_MERCURY_EXAMPLE_H
#define CINNABAR_EXAMPLES_MERCURY_EXAMPLE_H

#include <mercury.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Says what failed, and ends the program. */
#define REQUIRE(what)                                                  \
    do {                                                               \
        if (!(what)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                   \
        }                                                              \
    } while (0)

struct side {
    hg_class_t* hg_class;
    hg_context_t* context;
};

/* Makes progress and runs callbacks until *done. */
void run_until(struct side* side, const bool* done);

typedef void (*register_function)(struct side* side);
typedef void (*client_function)(struct side* side, hg_addr_t server);

/* Forks. The child is the server; it ends when `client` has returned in the parent. Both sides call `registers`, so
 * that both know the procs. Returns the exit status of the program. */
int run_both(const char* info_string, register_function registers, client_function client);

#endif
