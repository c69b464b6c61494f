/* A class, a context, one's own address; then everything is released again. */
#include "example.h"

#include <string.h>

int main(void) {
    unsigned int major = 0;
    unsigned int minor = 0;
    HG_Version_get(&major, &minor, NULL);
    printf("interface %u.%u\n", major, minor);

    hg_class_t* hg_class = HG_Init("ofi+tcp://127.0.0.1", true);
    REQUIRE(hg_class);
    hg_context_t* context = HG_Context_create(hg_class);
    REQUIRE(context);
    printf("%s over %s, %s\n", HG_Class_get_name(hg_class), HG_Class_get_protocol(hg_class),
           HG_Class_is_listening(hg_class) ? "listening" : "calling only");

    hg_addr_t self = HG_ADDR_NULL;
    char address[256];
    hg_size_t bytes = sizeof address;
    REQUIRE(HG_Addr_self(hg_class, &self) == HG_SUCCESS);
    REQUIRE(HG_Addr_to_string(hg_class, address, &bytes, self) == HG_SUCCESS);
    *strrchr(address, ':') = '\0'; /* the port differs each time */
    printf("at %s\n", address);

    /* Released in reverse order: HG_Finalize returns HG_BUSY if anything of the class is left. */
    REQUIRE(HG_Addr_free(hg_class, self) == HG_SUCCESS);
    REQUIRE(HG_Context_destroy(context) == HG_SUCCESS);
    REQUIRE(HG_Finalize(hg_class) == HG_SUCCESS);
    printf("finalized\n");
    return 0;
}
