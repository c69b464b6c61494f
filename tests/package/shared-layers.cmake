# Each layer a shared library (BUILD_SHARED_LIBS=ON): configured by the preset `install`, so that several files are
# compiled at a time, built, installed, and used by a C++ program and by one in C that was written for Mercury.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${FOLDER})
set(PREFIX ${FOLDER}/installed)
execute_process(COMMAND ${CMAKE_COMMAND} --preset install -B ${FOLDER}/build
    -D BUILD_SHARED_LIBS=ON -D CINNABAR_TOOLS=OFF -D CINNABAR_FILES=OFF -D CMAKE_CXX_FLAGS_RELEASE=-O1
    -D CMAKE_C_COMPILER=${C_COMPILER} -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}
    WORKING_DIRECTORY ${SOURCE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${FOLDER}/build --prefix ${PREFIX}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(GLOB archives ${PREFIX}/${LIBDIR}/libcinnabar*.a)
foreach(layer base na bulk rpc hl)
    if(NOT EXISTS ${PREFIX}/${LIBDIR}/libcinnabar_${layer}.so)
        message(FATAL_ERROR "libcinnabar_${layer}.so is not installed")
    endif()
endforeach()
if(archives)
    message(FATAL_ERROR "installed as archives: ${archives}")
endif()

# use(PROGRAM PACKAGE...): by both ways; what is needed at run time is found beside it.
function(use program)
    set(PACKAGES ${ARGN})
    set(PROGRAM ${CMAKE_CURRENT_LIST_DIR}/${program})
    foreach(way cmake pkg-config)
        set(arguments "")
        foreach(name PREFIX LIBDIR C_COMPILER CXX_COMPILER C_FLAGS CXX_FLAGS PROGRAM)
            list(APPEND arguments -D ${name}=${${name}})
        endforeach()
        execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR}
            ${CMAKE_COMMAND} ${arguments} -D "PACKAGES=${PACKAGES}" -D FOLDER=${FOLDER}/${program}-${way}
            -P ${CMAKE_CURRENT_LIST_DIR}/by-${way}.cmake COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
endfunction()
use(program cinnabar)
use(mercury mercury na)
