# cinnabar::cinnabar, and what others need to find an installed Cinnabar: a CMake package and a pkg-config file.
# In the order of their making, which is the order of the arrows: base first.
get_property(modules GLOBAL PROPERTY CINNABAR_MODULES)

add_library(cinnabar INTERFACE)
add_library(cinnabar::cinnabar ALIAS cinnabar)
foreach(module ${modules})
    target_link_libraries(cinnabar INTERFACE cinnabar_${module})
endforeach()
install(TARGETS cinnabar EXPORT cinnabar_targets)

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

# A linker reads libraries once, from left to right: the users before the used.
list(REVERSE modules)
list(TRANSFORM modules PREPEND "-lcinnabar_" OUTPUT_VARIABLE CINNABAR_LIBS)
# The fabrics' own, which plugins that are linked in need.
get_property(foreign GLOBAL PROPERTY CINNABAR_FOREIGN_LIBS)
list(TRANSFORM foreign PREPEND "-l")
list(APPEND CINNABAR_LIBS ${foreign})
list(JOIN CINNABAR_LIBS " " CINNABAR_LIBS)
configure_file(cmake/cinnabar.pc.in cinnabar.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cinnabar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(CINNABAR_MERCURY)
    mercury_packages()
endif()
