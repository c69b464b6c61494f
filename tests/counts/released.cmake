# cinnabar_compile_released(TARGET): compiles a library as a release is whatever the preset.
function(cinnabar_compile_released target)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION ON
        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${target} PRIVATE -O3 -DNDEBUG -g1 -w ${cinnabar_lto_options})  # behind the preset's own
endfunction()

# cinnabar_released(TARGET...): these libraries again, as TARGET_released, compiled as a release is whatever the preset:
# the counts of instructions are those that users have. The preset's own build has the warnings.
function(cinnabar_released)
    foreach(target ${ARGN})
        get_target_property(folder ${target} SOURCE_DIR)
        get_target_property(sources ${target} SOURCES)
        list(TRANSFORM sources PREPEND ${folder}/)
        add_library(${target}_released STATIC EXCLUDE_FROM_ALL ${sources})
        cinnabar_compile_released(${target}_released)
        target_include_directories(${target}_released PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
        if(target MATCHES "^cinnabar_")  # these compile several files at a time
            set_target_properties(${target}_released PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 40)
        endif()
    endforeach()
endfunction()
