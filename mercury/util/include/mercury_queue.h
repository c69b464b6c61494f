/* SPDX-License-Identifier: BSD-3-Clause */
/* The intrusive lists of the BSDs: SLIST, LIST, STAILQ, TAILQ. */
#ifndef MERCURY_QUEUE_H
#define MERCURY_QUEUE_H

#include "mercury_util_config.h"

#include <sys/queue.h>

#endif /* MERCURY_QUEUE_H */
