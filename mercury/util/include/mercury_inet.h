/* SPDX-License-Identifier: BSD-3-Clause */
/* htonl and its relatives, also for 64 bits. */
#ifndef MERCURY_INET_H
#define MERCURY_INET_H

#include "mercury_byteswap.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>

#ifndef htonll
#define htonll(x) htobe64(x)
#endif
#ifndef ntohll
#define ntohll(x) be64toh(x)
#endif

#endif /* MERCURY_INET_H */
