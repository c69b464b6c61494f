# Compiles the program by one compiler line with what pkg-config says, and runs it.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --define-variable=prefix=${PREFIX} --cflags --libs cinnabar
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
separate_arguments(own_flags UNIX_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${COMPILER} -std=c++20 ${own_flags} ${PROGRAM}/program.cpp -o ${FOLDER}/program ${flags}
    COMMAND_ERROR_IS_FATAL ANY)
set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
