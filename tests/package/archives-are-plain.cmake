# The preset `install` makes archives whose functions a linker without the compiler's help finds: no object of any
# library is compiled into the intermediate form of link-time optimisation, and one archive, made here, links.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} --preset install -B ${FOLDER}/build
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}
    WORKING_DIRECTORY ${SOURCE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(READ ${FOLDER}/build/compile_commands.json commands)
string(JSON last LENGTH "${commands}")
math(EXPR last "${last} - 1")
set(libraries "")
set(not_plain "")
foreach(i RANGE ${last})
    string(JSON command GET "${commands}" ${i} command)
    string(REGEX REPLACE ".* -o [^ ]*CMakeFiles/([^/ ]+)\\.dir/.*" "\\1" library "${command}")
    list(APPEND libraries ${library})
    if(command MATCHES " -flto")
        list(APPEND not_plain ${library})
    endif()
endforeach()
list(REMOVE_DUPLICATES not_plain)
foreach(library base na bulk rpc hl plugin_builtin plugin_self plugin_sim plugin_tcp)  # what every build has
    if(NOT cinnabar_${library} IN_LIST libraries)
        message(FATAL_ERROR "the preset `install` compiles nothing of cinnabar_${library}: look at what is read here")
    endif()
endforeach()
if(not_plain)
    message(FATAL_ERROR "compiled with -flto, so that only the same compiler can link it: ${not_plain}")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build --target cinnabar_base
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${FOLDER}/program.cpp "#include <cinnabar/base/error.hpp>
int main() { return cinnabar::to_string(cinnabar::Errc::ok).empty(); }\n")
execute_process(COMMAND c++ -std=c++20 -fno-lto -I${SOURCE}/base/include ${FOLDER}/program.cpp
    ${FOLDER}/build/base/libcinnabar_base.a -o ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
