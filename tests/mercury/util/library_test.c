/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_dl.h>
#include <mercury_log.h>
#include <mercury_util.h>
#include <string.h>
#include <unistd.h>

static void libraries_can_be_opened(void) {
    char path[4096];
    HG_DL_HANDLE self;
    CHECK(hg_dl_open("no/such/library.so") == NULL && hg_dl_error() != NULL);
    self = hg_dl_open(NULL);
    CHECK(self != NULL && hg_dl_sym(self, "hg_thread_join") != NULL && hg_dl_sym(self, "no_such_name") == NULL);
    CHECK(hg_dl_get_path(hg_dl_sym(self, "hg_thread_join"), path, sizeof(path)) == HG_UTIL_SUCCESS);
    CHECK(access(path, X_OK) == 0 && strstr(path, ".so") == NULL);
    CHECK(hg_dl_get_path(hg_dl_sym(self, "hg_thread_join"), path, 2) == HG_UTIL_FAIL);
    CHECK(hg_dl_get_path(path, path, sizeof(path)) == HG_UTIL_FAIL);
    CHECK(hg_dl_close(self) == 0);
}

static void versions_are_known(void) {
    unsigned int major = 0, minor = 0, patch = 7;
    HG_Util_version_get(&major, &minor, NULL);
    CHECK(major == HG_UTIL_VERSION_MAJOR && minor == HG_UTIL_VERSION_MINOR);
    HG_Util_version_get(NULL, NULL, &patch);
    CHECK(patch == HG_UTIL_VERSION_PATCH);
    HG_Util_set_log_level("warning");
    CHECK(hg_log_get_level() == HG_LOG_LEVEL_WARNING && strstr(hg_log_get_subsys(), "hg_util") != NULL);
}

int main(void) {
    libraries_can_be_opened();
    versions_are_known();
    return EXIT_SUCCESS;
}
