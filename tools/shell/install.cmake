# Has the built command write what shells complete, and its man pages, below the prefix. Given: tool, data, man.
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

function(completion shell file)
    get_filename_component(folder "${prefix}/${data}/${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    execute_process(COMMAND "${tool}" completion ${shell}
        OUTPUT_FILE "${prefix}/${data}/${file}" RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "cinnabar completion ${shell} failed: ${failed}")
    endif()
    message(STATUS "Installing: ${prefix}/${data}/${file}")
endfunction()

completion(bash bash-completion/completions/cinnabar)
completion(zsh zsh/site-functions/_cinnabar)
completion(fish fish/vendor_completions.d/cinnabar.fish)
execute_process(COMMAND "${tool}" man --output "${prefix}/${man}/man1" RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "cinnabar man failed: ${failed}")
endif()
message(STATUS "Installing: ${prefix}/${man}/man1")
