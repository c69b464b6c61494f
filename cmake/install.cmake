# cinnabar::cinnabar, and what others need to find an installed Cinnabar: a CMake package and a pkg-config file.
# In the order of their making, which is the order of the arrows: base first.
get_property(modules GLOBAL PROPERTY CINNABAR_MODULES)

add_library(cinnabar INTERFACE)
add_library(cinnabar::cinnabar ALIAS cinnabar)
foreach(module ${modules})
    target_link_libraries(cinnabar INTERFACE cinnabar_${module})
endforeach()
install(TARGETS cinnabar EXPORT cinnabar_targets)

# libcinnabar.so: all layers and transports in one library, beside the archives. Before 1.0 every minor version may change
# the ABI, so the soname has both numbers. Where the layers are shared libraries themselves, nothing is left to put in it.
if(NOT BUILD_SHARED_LIBS)
    set(archives "")
    foreach(module ${modules})
        list(APPEND archives cinnabar_${module})
    endforeach()
    set(no_code ${CMAKE_CURRENT_BINARY_DIR}/cinnabar_shared.cpp)  # CMake wants a source; the archives have it all
    if(NOT EXISTS ${no_code})
        file(WRITE ${no_code} "")
    endif()
    add_library(cinnabar_shared SHARED ${no_code})
    set_target_properties(cinnabar_shared PROPERTIES OUTPUT_NAME cinnabar EXPORT_NAME shared
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_compile_features(cinnabar_shared PUBLIC cxx_std_20)
    target_link_libraries(cinnabar_shared PRIVATE -Wl,--whole-archive ${archives} -Wl,--no-whole-archive)
    target_include_directories(cinnabar_shared INTERFACE $<INSTALL_INTERFACE:include>)
    find_package(Threads REQUIRED)
    target_link_libraries(cinnabar_shared INTERFACE Threads::Threads)
    add_library(cinnabar::shared ALIAS cinnabar_shared)
    install(TARGETS cinnabar_shared EXPORT cinnabar_targets)
endif()

# The packages whose targets ours name in their link interfaces, for find_dependency.
set(packages "")
foreach(module ${modules})
    get_target_property(links cinnabar_${module} INTERFACE_LINK_LIBRARIES)
    string(REGEX MATCHALL "[A-Za-z0-9_]+::[A-Za-z0-9_]+" targets "${links}")
    foreach(target ${targets})
        string(REGEX REPLACE "::.*" "" package ${target})
        if(NOT package STREQUAL cinnabar)
            list(APPEND packages ${package})
        endif()
    endforeach()
endforeach()
list(REMOVE_DUPLICATES packages)
set(CINNABAR_DEPENDENCIES "")
foreach(package ${packages})
    string(APPEND CINNABAR_DEPENDENCIES "find_dependency(${package})\n")
endforeach()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cinnabar)
configure_package_config_file(cmake/cinnabar-config.cmake.in cinnabar-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(cinnabar-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cinnabar-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/cinnabar-config-version.cmake
    DESTINATION ${package_folder})
install(EXPORT cinnabar_targets FILE cinnabar-targets.cmake NAMESPACE cinnabar:: DESTINATION ${package_folder})

# The components: their targets have files of their own, which only those who ask for one read.
get_property(modules_apart GLOBAL PROPERTY CINNABAR_MODULES_APART)
foreach(module ${modules_apart})
    install(EXPORT cinnabar_${module}_targets FILE cinnabar-${module}-targets.cmake NAMESPACE cinnabar::
        DESTINATION ${package_folder})
    configure_file(cmake/cinnabar-${module}.pc.in cinnabar-${module}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cinnabar-${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# A linker reads libraries once, from left to right: the users before the used.
list(REVERSE modules)
list(TRANSFORM modules PREPEND "-lcinnabar_" OUTPUT_VARIABLE CINNABAR_LIBS)
list(JOIN CINNABAR_LIBS " " CINNABAR_LIBS)
configure_file(cmake/cinnabar.pc.in cinnabar.pc @ONLY)
set(CINNABAR_LIBS "-lcinnabar")
configure_file(cmake/cinnabar.pc.in cinnabar-shared.pc @ONLY)
if(TARGET cinnabar_shared)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cinnabar-shared.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cinnabar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(CINNABAR_MERCURY)
    mercury_packages()
endif()
