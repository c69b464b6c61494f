# A build without libfabric is configured all the same, and says so in one line.
file(MAKE_DIRECTORY ${FOLDER}/no-packages)
set(ENV{PKG_CONFIG_LIBDIR} ${FOLDER}/no-packages)
set(ENV{PKG_CONFIG_PATH} "")
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${FOLDER}/build -G ${GENERATOR} -D CMAKE_C_COMPILER=${C_COMPILER}
        -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CINNABAR_TESTS=OFF -D CINNABAR_EXAMPLES=OFF -D CINNABAR_TOOLS=OFF
        -D CINNABAR_BENCH=OFF
    OUTPUT_VARIABLE said ERROR_VARIABLE complained RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "it is not configured: ${said}${complained}")
endif()
string(REGEX MATCHALL "[^\n]*libfabric[^\n]*" lines "${said}${complained}")
set(wanted "-- the ofi plugin is left out: libfabric 1.14 or later is not here (Debian: libfabric-dev)")
if(NOT lines STREQUAL wanted)
    message(FATAL_ERROR "of libfabric it says: ${lines}")
endif()
