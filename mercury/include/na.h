/* SPDX-License-Identifier: BSD-3-Clause
 * NA, the network layer under HG: only the classes and addresses that a program needs to open a network itself and pass
 * it to HG. Messages and RMA are not exposed (docs/mercury.md). Thread-safe. */
#ifndef NA_H
#define NA_H

#include "na_types.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

NA_PUBLIC na_return_t NA_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch);
/* The name of a return value, in static storage. */
NA_PUBLIC const char* NA_Error_to_string(na_return_t value) NA_WARN_UNUSED_RESULT;

/* Lists the protocols that this machine has: all of them, or those of "class" or "class+protocol". NA_PROTONOSUPPORT:
 * none of that name. Free the list with NA_Free_protocol_info. */
NA_PUBLIC na_return_t NA_Get_protocol_info(const char* info_string, struct na_protocol_info** list);
NA_PUBLIC void NA_Free_protocol_info(struct na_protocol_info* list);

/* Opens a network by its info string, "[class+]protocol[://address]"; docs/mercury.md lists them. On failure, logs the
 * reason and returns NULL. */
NA_PUBLIC na_class_t* NA_Initialize(const char* info_string, bool listen) NA_WARN_UNUSED_RESULT;
NA_PUBLIC na_class_t* NA_Initialize_opt(const char* info_string, bool listen,
                                        const struct na_init_info* options) NA_WARN_UNUSED_RESULT;
/* `version` says which fields the structure has: NA_VERSION(major, minor). */
NA_PUBLIC na_class_t* NA_Initialize_opt2(const char* info_string, bool listen, unsigned int version,
                                         const struct na_init_info* options) NA_WARN_UNUSED_RESULT;
/* NA_BUSY: addresses still exist, or an HG class uses the network. */
NA_PUBLIC na_return_t NA_Finalize(na_class_t* na_class);
/* Removes files of killed processes of this user. */
NA_PUBLIC void NA_Cleanup(void);

NA_PUBLIC const char* NA_Get_class_name(const na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_PUBLIC const char* NA_Get_class_protocol(const na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_PUBLIC bool NA_Is_listening(const na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_PUBLIC bool NA_Has_opt_feature(na_class_t* na_class, unsigned long flags) NA_WARN_UNUSED_RESULT;
NA_PUBLIC size_t NA_Msg_get_max_unexpected_size(const na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_PUBLIC size_t NA_Msg_get_max_expected_size(const na_class_t* na_class) NA_WARN_UNUSED_RESULT;
NA_PUBLIC na_tag_t NA_Msg_get_max_tag(const na_class_t* na_class) NA_WARN_UNUSED_RESULT;

/* Addresses. Free each one with NA_Addr_free. */
NA_PUBLIC na_return_t NA_Addr_lookup(na_class_t* na_class, const char* name, na_addr_t** addr);
NA_PUBLIC void NA_Addr_free(na_class_t* na_class, na_addr_t* addr);
NA_PUBLIC na_return_t NA_Addr_set_remove(na_class_t* na_class, na_addr_t* addr);
NA_PUBLIC na_return_t NA_Addr_self(na_class_t* na_class, na_addr_t** addr);
NA_PUBLIC na_return_t NA_Addr_dup(na_class_t* na_class, na_addr_t* addr, na_addr_t** copy);
NA_PUBLIC bool NA_Addr_cmp(na_class_t* na_class, na_addr_t* one, na_addr_t* other) NA_WARN_UNUSED_RESULT;
NA_PUBLIC bool NA_Addr_is_self(na_class_t* na_class, na_addr_t* addr) NA_WARN_UNUSED_RESULT;
/* See HG_Addr_to_string. */
NA_PUBLIC na_return_t NA_Addr_to_string(na_class_t* na_class, char* text, size_t* bytes, na_addr_t* addr);
/* An address as bytes, to be sent in messages. NA_OVERFLOW: the buffer is too small; NA_PROTOCOL_ERROR: malformed
 * bytes. */
NA_PUBLIC size_t NA_Addr_get_serialize_size(na_class_t* na_class, na_addr_t* addr) NA_WARN_UNUSED_RESULT;
NA_PUBLIC na_return_t NA_Addr_serialize(na_class_t* na_class, void* bytes, size_t count, na_addr_t* addr);
NA_PUBLIC na_return_t NA_Addr_deserialize(na_class_t* na_class, na_addr_t** addr, const void* bytes, size_t count,
                                          uint64_t flags);

/* See the HG functions of the same name. */
NA_PUBLIC void NA_Set_log_level(const char* level);
NA_PUBLIC void NA_Diag_dump_counters(void);

#ifdef __cplusplus
}
#endif
#endif
