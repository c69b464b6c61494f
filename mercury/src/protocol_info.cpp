// SPDX-License-Identifier: BSD-3-Clause
// NA_Get_protocol_info: the protocols that this machine has.
#include "errors.hpp"
#include "na.h"

#include <cinnabar/na/registry.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>

using cinnabar::mercury::guarded;
using cinnabar::mercury::to_na;

namespace {

struct Entry {
    std::string_view scheme;  // of the plugin
    std::string_view name;
    std::string_view protocol;
    std::string_view device;
};
constexpr std::array<Entry, 6> entries{{
    {"shm", "na", "sm", "shm"},
    {"tcp", "ofi", "tcp", "any"},
    {"tcp", "ofi", "tcp;ofi_rxm", "any"},
    {"tcp", "ofi", "sockets", "any"},
    {"verbs", "ofi", "verbs", "any"},
    {"verbs", "ofi", "verbs;ofi_rxm", "any"},
}};

bool matches(const Entry& entry, std::string_view wanted) {
    if (wanted.empty()) return true;
    const auto plus = wanted.find('+');
    if (plus == wanted.npos) return wanted == entry.protocol || wanted == entry.name;
    return wanted.substr(0, plus) == entry.name && wanted.substr(plus + 1) == entry.protocol;
}

char* copy(std::string_view text) {
    auto bytes = std::make_unique<char[]>(text.size() + 1);
    text.copy(bytes.get(), text.size());
    return bytes.release();
}

}  // namespace

na_return_t NA_Get_protocol_info(const char* info_string, struct na_protocol_info** list) {
    if (!list) return NA_INVALID_ARG;
    *list = nullptr;
    return to_na(guarded([&] {
        cinnabar::na::Registry registry;
        cinnabar::add_builtin(registry);
        na_protocol_info** last = list;
        for (const Entry& entry : entries) {
            bool known = false;
            for (const auto& plugin : registry.plugins()) known = known || plugin.scheme == entry.scheme;
            if (!known || !matches(entry, info_string ? info_string : "")) continue;
            *last = new na_protocol_info{};
            (*last)->class_name = copy(entry.name);
            (*last)->protocol_name = copy(entry.protocol);
            (*last)->device_name = copy(entry.device);
            last = &(*last)->next;
        }
        return *list ? HG_SUCCESS : HG_PROTONOSUPPORT;
    }));
}

void NA_Free_protocol_info(struct na_protocol_info* list) {
    while (list) {
        const std::unique_ptr<na_protocol_info> info(list);
        list = info->next;
        delete[] info->class_name;
        delete[] info->protocol_name;
        delete[] info->device_name;
    }
}
