// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_dl.h>

#include <cstring>
#include <string_view>

int hg_dl_get_path(const void* addr, char* path, size_t path_size) {
    Dl_info info;
    if (dladdr(addr, &info) == 0 || info.dli_fname == nullptr) return HG_UTIL_FAIL;
    const std::string_view file = info.dli_fname;
    const auto slash = file.rfind('/');
    const std::string_view folder = slash == file.npos ? "." : file.substr(0, slash == 0 ? 1 : slash);
    if (folder.size() >= path_size) return HG_UTIL_FAIL;
    std::memcpy(path, folder.data(), folder.size());
    path[folder.size()] = '\0';
    return HG_UTIL_SUCCESS;
}
