# The libraries that stand in for Mercury's, and the packages by which their users find them: targets, files and variables
# have the names that Mercury gives them. All of it is the component `mercury`, which finds what it needs in its own prefix.
set(MERCURY_VERSION 2.4.1)  # whose API this is
set(MERCURY_UTIL_VERSION 4.1.0)
set(NA_VERSION 6.0.0)

# mercury_library(NAME SOURCES file... [DEPENDS target...] [PRIVATE_DEPENDS target...])
# Always shared, so that C programs need no C++ linker, and with the core inside and hidden: a program may use Cinnabar
# besides. The soname is not Mercury's: a program must be compiled against these headers.
function(mercury_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
    add_library(${name} SHARED ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
        UNITY_BUILD OFF  # what its files keep for themselves has equal names
        VERSION cinnabar${PROJECT_VERSION} SOVERSION cinnabar${PROJECT_VERSION_MAJOR} INSTALL_RPATH "$ORIGIN")
    target_compile_features(${name} PRIVATE cxx_std_20)
    set(names ${PROJECT_SOURCE_DIR}/cmake/mercury-names.map)
    target_link_options(${name} PRIVATE LINKER:--version-script=${names})
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${names})
    target_include_directories(${name}
        PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} PUBLIC ${arg_DEPENDS}
        PRIVATE ${arg_PRIVATE_DEPENDS} $<BUILD_INTERFACE:cinnabar_warnings>)
    install(TARGETS ${name} EXPORT mercury_targets COMPONENT mercury)
    install(DIRECTORY include/ TYPE INCLUDE COMPONENT mercury FILES_MATCHING PATTERN "*.h")
endfunction()

# Once all targets are there.
function(mercury_packages)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/mercury)
    set(MERCURY_DEPENDENCIES "")
    if(BUILD_SHARED_LIBS)  # then the core is not inside
        set(MERCURY_DEPENDENCIES "find_dependency(cinnabar)\n")
    endif()
    configure_package_config_file(cmake/mercury-config.cmake.in mercury-config.cmake INSTALL_DESTINATION ${folder})
    write_basic_package_version_file(mercury-config-version.cmake VERSION ${MERCURY_VERSION}
        COMPATIBILITY SameMajorVersion)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mercury-config.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/mercury-config-version.cmake DESTINATION ${folder} COMPONENT mercury)
    install(EXPORT mercury_targets FILE mercury-targets.cmake DESTINATION ${folder} COMPONENT mercury)
    file(RELATIVE_PATH MERCURY_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    foreach(name mercury na mercury_util)
        if(TARGET ${name})
            configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
            install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
                COMPONENT mercury)
        endif()
    endforeach()
    if(TARGET na)  # what -lna finds: NA's functions are in libmercury
        file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/libna.so "INPUT(-lmercury)\n")
        install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libna.so DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mercury)
    endif()
endfunction()
