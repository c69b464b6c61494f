# cinnabar_module(NAME [APART] SOURCES file... DEPENDS target... [PRIVATE_DEPENDS target...])
# A layer: target cinnabar_NAME (alias cinnabar::NAME) with its own include folder, so that an include against the
# arrows does not compile. It is installed and exported; see install.cmake. APART: it is no part of cinnabar::cinnabar
# and of libcinnabar.so, but a component of the package by its name, since it needs libraries that they do not.
function(cinnabar_module name)
    cmake_parse_arguments(arg "APART" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
    add_library(cinnabar_${name} ${arg_SOURCES})
    add_library(cinnabar::${name} ALIAS cinnabar_${name})
    set_target_properties(cinnabar_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    target_compile_features(cinnabar_${name} PUBLIC cxx_std_20)
    target_include_directories(cinnabar_${name}
        PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
        PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
    target_link_libraries(cinnabar_${name} PUBLIC ${arg_DEPENDS}
        PRIVATE ${arg_PRIVATE_DEPENDS} $<BUILD_INTERFACE:cinnabar_warnings>)
    if(arg_APART)
        set_property(GLOBAL APPEND PROPERTY CINNABAR_MODULES_APART ${name})
        install(TARGETS cinnabar_${name} EXPORT cinnabar_${name}_targets)
    else()
        set_property(GLOBAL APPEND PROPERTY CINNABAR_MODULES ${name})
        install(TARGETS cinnabar_${name} EXPORT cinnabar_targets)
    endif()
    if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
        install(DIRECTORY include/ TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
    endif()
endfunction()

# cinnabar_header_module(NAME DEPENDS target...): a component of the package that is headers alone.
function(cinnabar_header_module name)
    cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
    add_library(cinnabar_${name} INTERFACE)
    add_library(cinnabar::${name} ALIAS cinnabar_${name})
    set_target_properties(cinnabar_${name} PROPERTIES EXPORT_NAME ${name})
    target_compile_features(cinnabar_${name} INTERFACE cxx_std_20)
    target_include_directories(cinnabar_${name}
        INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(cinnabar_${name} INTERFACE ${arg_DEPENDS})
    set_property(GLOBAL APPEND PROPERTY CINNABAR_MODULES_APART ${name})
    install(TARGETS cinnabar_${name} EXPORT cinnabar_${name}_targets)
    install(DIRECTORY include/ TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
endfunction()

# cinnabar_takes_plugins(TARGET): a program that may load plugins holds all of na and base, and shows it to them.
function(cinnabar_takes_plugins target)
    set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
    target_link_libraries(${target} PRIVATE
        -Wl,--whole-archive cinnabar::na cinnabar::base -Wl,--no-whole-archive ${CMAKE_DL_LIBS})
endfunction()

# cinnabar_standard_headers(SOURCE): what the rooms up to rpc include of the standard library, parsed once for all of them;
# base makes it.
function(cinnabar_standard_headers source)
    add_library(cinnabar_standard_headers OBJECT ${source})
    target_precompile_headers(cinnabar_standard_headers PRIVATE <algorithm> <array> <atomic> <cerrno> <chrono> <cstring>
        <functional> <map> <memory> <mutex> <new> <optional> <span> <stdexcept> <string> <string_view> <unordered_map>
        <utility> <vector>)
    cinnabar_flags_of_parsed_headers(cinnabar_standard_headers)
endfunction()

# cinnabar_takes_standard_headers(TARGET): it includes them.
function(cinnabar_takes_standard_headers target)
    target_precompile_headers(${target} REUSE_FROM cinnabar_standard_headers)
    cinnabar_flags_of_parsed_headers(${target})
endfunction()

# cinnabar_node_headers(SOURCE): what the rooms above rpc include, parsed once for all of them; hl makes it.
function(cinnabar_node_headers source)
    add_library(cinnabar_node_headers OBJECT ${source})
    target_include_directories(cinnabar_node_headers PRIVATE $<TARGET_PROPERTY:cinnabar_hl,INCLUDE_DIRECTORIES>)
    target_precompile_headers(cinnabar_node_headers PRIVATE <cinnabar/cinnabar.hpp> <algorithm> <array> <chrono> <cmath>
        <deque> <fstream> <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <thread> <unordered_map>
        <vector>)
    cinnabar_flags_of_parsed_headers(cinnabar_node_headers)
endfunction()

# Those of cinnabar_module, which a compiler wants equal in all that share what it has parsed.
function(cinnabar_flags_of_parsed_headers target)
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_features(${target} PRIVATE cxx_std_20)
    target_compile_options(${target} PRIVATE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # the latter for ccache
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cinnabar_warnings>)
endfunction()

# cinnabar_takes_node_headers(TARGET): it includes them.
function(cinnabar_takes_node_headers target)
    target_precompile_headers(${target} REUSE_FROM cinnabar_node_headers)
    cinnabar_flags_of_parsed_headers(${target})
endfunction()

# cinnabar_compiles_quickly(TARGET): its code moves no data, and is a third of what a new user compiles first. -O1 takes
# three fifths of the time of -O3.
function(cinnabar_compiles_quickly target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
