# Configures, builds and runs the program with find_package.
foreach(step
        "-S;${PROGRAM};-B;${FOLDER};-G;Ninja;--fresh;-DCMAKE_PREFIX_PATH=${PREFIX};-DCMAKE_CXX_COMPILER=${CXX_COMPILER};-DCMAKE_CXX_FLAGS=${CXX_FLAGS};-DCMAKE_C_COMPILER=${C_COMPILER};-DCMAKE_C_FLAGS=${C_FLAGS}"
        "--build;${FOLDER}")
    execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
