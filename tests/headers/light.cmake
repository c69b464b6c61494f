# cmake -D COMPILER=... -D FLAGS=FILE -D HEADER=... -P light.cmake: what HEADER makes a program read holds none of the
# standard library's headers that only some programs need (docs/decisions/0123-*.md).
cmake_minimum_required(VERSION 3.22)
set(not_for_all algorithm bitset chrono cmath deque filesystem fstream future iomanip iostream list locale map numeric
    random ranges regex set sstream thread unordered_set variant)
set(source ${FLAGS}.cpp)
file(WRITE ${source} "#include <${HEADER}>\n")
execute_process(COMMAND ${COMPILER} @${FLAGS} -M ${source}
    OUTPUT_VARIABLE read ERROR_VARIABLE errors RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "${HEADER} cannot be preprocessed:\n${errors}")
endif()
string(REGEX MATCHALL "[^ \\\n]+" read "${read}")
list(FILTER read EXCLUDE REGEX ":$")  # the name of the rule
if(NOT "${read}" MATCHES "/cinnabar/")
    message(FATAL_ERROR "the compiler does not say what it reads: ${read}")
endif()
set(heavy "")
foreach(header ${read})
    get_filename_component(name ${header} NAME)
    get_filename_component(folder ${header} DIRECTORY)
    if(name IN_LIST not_for_all AND folder MATCHES "/c[+][+]/[^/]+$")
        string(APPEND heavy " <${name}>")
    endif()
endforeach()
if(heavy)
    message(FATAL_ERROR "every program that includes <${HEADER}> reads${heavy}; include them where they are used, or "
        "use base/smaller.hpp and base/durations.hpp")
endif()
