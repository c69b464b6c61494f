# Configures, builds and runs the program with find_package(cinnabar).
foreach(step
        "-S;${PROGRAM};-B;${FOLDER};-G;Ninja;--fresh;-DCMAKE_PREFIX_PATH=${PREFIX};-DCMAKE_CXX_COMPILER=${COMPILER};-DCMAKE_CXX_FLAGS=${FLAGS}"
        "--build;${FOLDER}")
    execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${FOLDER}/program COMMAND_ERROR_IS_FATAL ANY)
