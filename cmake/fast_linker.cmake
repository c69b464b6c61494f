# For the programs of tests and examples, which are two hundred: lld links them in half the time of bfd. It knows nothing of
# g++'s link-time optimisation, and what the sanitizers and gcov bring is tested with the linker that users have.
find_program(CINNABAR_LLD ld.lld)
mark_as_advanced(CINNABAR_LLD)
if(CINNABAR_TESTS AND CINNABAR_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION
    AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize|--coverage")
    add_link_options(-fuse-ld=lld)
endif()
