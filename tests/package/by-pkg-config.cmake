# Compiles the program by one compiler line with what pkg-config says, and runs it.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --define-variable=prefix=${PREFIX} --cflags --libs ${PACKAGES}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
if(EXISTS ${PROGRAM}/program.c)
    separate_arguments(compile UNIX_COMMAND "${C_COMPILER} ${C_FLAGS} ${PROGRAM}/program.c")
else()
    separate_arguments(compile UNIX_COMMAND "${CXX_COMPILER} -std=c++20 ${CXX_FLAGS} ${PROGRAM}/program.cpp")
endif()
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${compile} -o ${FOLDER}/program ${flags} COMMAND_ERROR_IS_FATAL ANY)
set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
