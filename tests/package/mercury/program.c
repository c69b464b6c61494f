/* SPDX-License-Identifier: BSD-3-Clause */
/* A first program of somebody who knows Mercury: a class of NA handed to HG, a call to oneself, no C++ linker. */
#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_request.h>
#include <na.h>
#include <stdio.h>

MERCURY_GEN_PROC(sum_in_t, ((int32_t)(a))((int32_t)(b)))
MERCURY_GEN_PROC(sum_out_t, ((int32_t)(sum)))

static hg_return_t serve_sum(hg_handle_t handle) {
    sum_in_t in;
    sum_out_t out;
    if (HG_Get_input(handle, &in) != HG_SUCCESS) return HG_Destroy(handle);
    out.sum = in.a + in.b;
    (void)HG_Free_input(handle, &in);
    (void)HG_Respond(handle, NULL, NULL, &out);
    return HG_Destroy(handle);
}

static hg_return_t answered(const struct hg_cb_info* info) {
    hg_request_complete((hg_request_t*)info->arg);
    return info->ret;
}

static int progress(unsigned int timeout, void* context) {
    return HG_Progress((hg_context_t*)context, timeout) == HG_SUCCESS ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static int trigger(unsigned int timeout, unsigned int* flag, void* context) {
    return HG_Trigger((hg_context_t*)context, timeout, 1, flag) == HG_SUCCESS ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int main(void) {
    na_class_t* network = NA_Initialize("ofi+tcp://127.0.0.1:0", true);
    struct hg_init_info options = HG_INIT_INFO_INITIALIZER;
    sum_in_t in = {2, 3};
    sum_out_t out = {0};
    hg_addr_t self;
    hg_handle_t handle;
    unsigned int completed = 0;
    options.na_class = network;
    hg_class_t* hg_class = network ? HG_Init_opt2(NULL, HG_TRUE, HG_VERSION(2, 4), &options) : NULL;
    hg_context_t* context = hg_class ? HG_Context_create(hg_class) : NULL;
    if (!context || HG_Addr_self(hg_class, &self) != HG_SUCCESS) return 1;
    const hg_id_t id = MERCURY_REGISTER(hg_class, "sum", sum_in_t, sum_out_t, serve_sum);
    hg_request_class_t* requests = hg_request_init(progress, trigger, context);
    hg_request_t* request = hg_request_create(requests);
    if (HG_Create(context, self, id, &handle) != HG_SUCCESS) return 1;
    if (HG_Forward(handle, answered, request, &in) != HG_SUCCESS) return 1;
    (void)hg_request_wait(request, 20000, &completed);
    if (!completed || HG_Get_output(handle, &out) != HG_SUCCESS) return 1;
    printf("2 + 3 = %d\n", (int)out.sum);
    (void)HG_Free_output(handle, &out);
    (void)HG_Destroy(handle);
    (void)HG_Addr_free(hg_class, self);
    while (trigger(0, &completed, context) == HG_UTIL_SUCCESS && completed) {
    }
    hg_request_destroy(request);
    hg_request_finalize(requests, NULL);
    if (HG_Context_destroy(context) != HG_SUCCESS || HG_Finalize(hg_class) != HG_SUCCESS) return 1;
    return NA_Finalize(network) == NA_SUCCESS && out.sum == 5 ? 0 : 1;
}
