// SPDX-License-Identifier: BSD-3-Clause
// What Mercury's procs decode: strings, lists of numbers, bulk handles. Accepted values are freed by the same proc, and
// a received bulk handle is unchanged when it is sent on.
#include <cinnabar/base/assert.hpp>

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_proc.h>
#include <mercury_proc_bulk.h>
#include <mercury_proc_string.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

hg_class_t* only_class() {
    static hg_class_t* const made = [] {
        HG_Set_log_level("none");
        return HG_Init("self", HG_TRUE);
    }();
    CINNABAR_ASSERT(made != nullptr);
    return made;
}

void look_at(hg_bulk_t bulk) {
    (void)HG_Bulk_get_segment_count(bulk);
    const hg_size_t bytes = HG_Bulk_get_size(bulk);
    void* parts[4];
    hg_size_t part_bytes[4];
    hg_uint32_t parts_there = 0;
    if (HG_Bulk_access(bulk, 0, bytes, HG_BULK_READ_ONLY, 4, parts, part_bytes, &parts_there) == HG_SUCCESS) {
        std::uint64_t sum = 0;
        for (hg_uint32_t i = 0; i < parts_there; ++i) {
            for (hg_size_t k = 0; k < part_bytes[i]; ++k) sum += static_cast<unsigned char*>(parts[i])[k];
        }
        CINNABAR_ASSERT(sum < ~std::uint64_t{0});
    }
    std::vector<char> sent(HG_Bulk_get_serialize_size(bulk, 0));
    CINNABAR_ASSERT(HG_Bulk_serialize(sent.data(), sent.size(), 0, bulk) == HG_SUCCESS);
    hg_bulk_t again = HG_BULK_NULL;
    CINNABAR_ASSERT(HG_Bulk_deserialize(only_class(), &again, sent.data(), sent.size()) == HG_SUCCESS);
    CINNABAR_ASSERT(HG_Bulk_get_size(again) == bytes);
    CINNABAR_ASSERT(HG_Bulk_free(again) == HG_SUCCESS);
}

struct Values {
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_string_t text = nullptr;
    hg_string_object_t object{};
    std::uint64_t number = 0;
};

// One proc for all of them: the first byte selects the type of the rest.
hg_return_t run(hg_proc_t proc, std::uint8_t kind, Values& values) {
    switch (kind % 4) {
        case 0:
            return hg_proc_hg_bulk_t(proc, &values.bulk);
        case 1:
            return hg_proc_hg_string_t(proc, &values.text);
        case 2:
            return hg_proc_hg_string_object_t(proc, &values.object);
        default:
            return hg_proc_uint64_t(proc, &values.number);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return 0;
    std::vector<std::uint8_t> message(bytes + 1, bytes + size);
    Values values;
    hg_proc_t proc = HG_PROC_NULL;
    const auto open = [&](hg_proc_op_t op) {
        CINNABAR_ASSERT(hg_proc_create_set(only_class(), message.data(), message.size(), op, HG_NOHASH, &proc) ==
                        HG_SUCCESS);
    };
    if (message.empty()) return 0;
    open(HG_DECODE);
    const bool taken = run(proc, bytes[0], values) == HG_SUCCESS;
    CINNABAR_ASSERT(hg_proc_get_size_left(proc) <= message.size());
    CINNABAR_ASSERT(hg_proc_free(proc) == HG_SUCCESS);
    if (!taken) return 0;
    if (values.bulk != HG_BULK_NULL) look_at(values.bulk);
    if (values.text) CINNABAR_ASSERT(std::strlen(values.text) <= message.size());
    open(HG_FREE);
    CINNABAR_ASSERT(run(proc, bytes[0], values) == HG_SUCCESS);
    CINNABAR_ASSERT(hg_proc_free(proc) == HG_SUCCESS);
    return 0;
}
