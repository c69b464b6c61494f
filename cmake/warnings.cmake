# The warnings of every target of ours; errors only where CINNABAR_WERROR says so (the dev presets and CI).
add_library(cinnabar_warnings INTERFACE)
target_compile_options(cinnabar_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wno-missing-field-initializers
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Where several files are one, g++ takes what they keep for themselves for the contents of headers.
    target_compile_options(cinnabar_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(CINNABAR_WERROR)
    target_compile_options(cinnabar_warnings INTERFACE -Werror)
endif()
