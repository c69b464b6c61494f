// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_log.h>
#include <mercury_util.h>

void HG_Util_version_get(unsigned int* major, unsigned int* minor, unsigned int* patch) {
    if (major != nullptr) *major = HG_UTIL_VERSION_MAJOR;
    if (minor != nullptr) *minor = HG_UTIL_VERSION_MINOR;
    if (patch != nullptr) *patch = HG_UTIL_VERSION_PATCH;
}

void HG_Util_set_log_level(const char* level) { hg_log_set_subsys_level("hg_util", hg_log_name_to_level(level)); }
