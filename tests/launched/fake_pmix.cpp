// SPDX-License-Identifier: BSD-3-Clause
#include "fake_pmix.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace cinnabar::test {

FakePmix& fake_pmix() {
    static FakePmix pmix;
    return pmix;
}

}  // namespace cinnabar::test

using cinnabar::test::fake_pmix;

namespace {

// PMIX_VALUE_RELEASE frees what PMIx has allocated.
pmix_status_t give(pmix_value_t** value, std::uint32_t number) {
    PMIX_VALUE_CREATE(*value, 1);
    (*value)->type = PMIX_UINT32;
    (*value)->data.uint32 = number;
    return PMIX_SUCCESS;
}
pmix_status_t give(pmix_value_t** value, const std::string& text) {
    PMIX_VALUE_CREATE(*value, 1);
    (*value)->type = PMIX_STRING;
    (*value)->data.string = ::strdup(text.c_str());
    return PMIX_SUCCESS;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Init(pmix_proc_t* process, pmix_info_t*, std::size_t) {
    if (fake_pmix().init != PMIX_SUCCESS) return fake_pmix().init;
    ++fake_pmix().open;
    *process = {};
    (void)std::string_view("fake").copy(process->nspace, PMIX_MAX_NSLEN);
    process->rank = fake_pmix().rank;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t*, std::size_t) {
    --fake_pmix().open;
    return PMIX_SUCCESS;
}

int PMIx_Initialized(void) { return fake_pmix().open; }

const char* PMIx_Error_string(pmix_status_t) { return "FAKE-ERROR"; }

pmix_status_t PMIx_Put(pmix_scope_t, const char* key, pmix_value_t* value) {
    fake_pmix().keys.emplace_back(key);
    fake_pmix().text = value->data.string;
    return fake_pmix().put;
}

pmix_status_t PMIx_Commit(void) { return fake_pmix().commit; }

pmix_status_t PMIx_Fence_nb(const pmix_proc_t*, std::size_t, const pmix_info_t* info, std::size_t count,
                            pmix_op_cbfunc_t done, void* user) {
    for (std::size_t i = 0; i < count; ++i) {
        if (std::strcmp(info[i].key, PMIX_TIMEOUT) == 0) fake_pmix().limit = info[i].value.data.integer;
    }
    if (fake_pmix().fence == PMIX_SUCCESS && fake_pmix().fences_spoiled > 0) {
        --fake_pmix().fences_spoiled;
        done(PMIX_ERR_PARTIAL_SUCCESS, user);
        return PMIX_SUCCESS;
    }
    if (fake_pmix().fence == PMIX_SUCCESS && fake_pmix().fenced) done(*fake_pmix().fenced, user);
    return fake_pmix().fence;
}

pmix_status_t PMIx_Get(const pmix_proc_t* process, const char* key, const pmix_info_t*, std::size_t,
                       pmix_value_t** value) {
    const auto& fake = fake_pmix();
    if (std::strcmp(key, PMIX_JOB_SIZE) == 0)
        return fake.size ? give(value, *fake.size) : pmix_status_t{PMIX_ERR_NOT_FOUND};
    if (fake.get != PMIX_SUCCESS) return fake.get;
    if (fake.texts_are_numbers) return give(value, 7u);
    if (process->rank == fake.rank) return give(value, fake.text);
    const auto found = fake.others.find(process->rank);
    return found == fake.others.end() ? pmix_status_t{PMIX_ERR_NOT_FOUND} : give(value, found->second);
}

}  // extern "C"
