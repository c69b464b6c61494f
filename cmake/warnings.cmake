# The warnings of every target of ours; errors only where CINNABAR_WERROR says so (the dev presets and CI).
add_library(cinnabar_warnings INTERFACE)
target_compile_options(cinnabar_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
if(CINNABAR_WERROR)
    target_compile_options(cinnabar_warnings INTERFACE -Werror)
endif()
