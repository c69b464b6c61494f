# The preset `install` makes an archive whose functions a linker without the compiler's help finds.
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} --preset install -B ${FOLDER}/build
    -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}
    WORKING_DIRECTORY ${SOURCE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${FOLDER}/build --target cinnabar_base
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${FOLDER}/program.cpp "#include <cinnabar/base/error.hpp>
int main() { return cinnabar::to_string(cinnabar::Errc::ok).empty(); }\n")
execute_process(COMMAND c++ -std=c++20 -fno-lto -I${SOURCE}/base/include ${FOLDER}/program.cpp
    ${FOLDER}/build/base/libcinnabar_base.a -o ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
