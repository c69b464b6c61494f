# Configures, builds and runs the project against the tree that is installed below PREFIX.
foreach(step
        "-S;${PROJECT};-B;${FOLDER};-G;Ninja;--fresh;-DCMAKE_PREFIX_PATH=${PREFIX};-DCMAKE_CXX_COMPILER=${COMPILER};-DCMAKE_CXX_FLAGS=${FLAGS}"
        "--build;${FOLDER}")
    execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${FOLDER}/load_and_use ${FOLDER}/loop.so COMMAND_ERROR_IS_FATAL ANY)
