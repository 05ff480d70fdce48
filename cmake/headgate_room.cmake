# headgate_room(NAME FLOOR number
#               USES room... THIRD_PARTIES party... APART folder... PUBLIC header...
#               LINKS target... EXCEPT path... PRECOMPILE header...
#               TEST_LINKS target... TEST_PRECOMPILE header... HEADERS_CHECKED)
#
# One room = one folder = one library headgate::NAME = one test binary NAME_test. Its files are found
# by their names: *_test.cc are tests, `testing/` is for tests and declared by the room itself, EXCEPT
# names files and folders that are built apart, and the rest is the library.
#
# What a room may include is declared here, and the ctest `layers` (cmake/check_layers.py) compares it
# with every #include and with the table in docs/architecture.md:
#   FLOOR          rooms include only from lower floors
#   USES           the rooms whose headers this one may include
#   THIRD_PARTIES  the libraries whose headers it may include, with a folder where only that folder
#                  may: envoy/nghttp2
#   APART          subfolders that may not include each other
# PRECOMPILE and TEST_PRECOMPILE name large headers of third parties that most of its files include.
# HEADERS_CHECKED: the room's code is mostly in headers, so its tests are compiled with all sanitizers
# and optimised. Other tests are compiled fast, and leave UndefinedBehaviorSanitizer to the library.
# PUBLIC names the headers for users, as docs/library.md lists them. They are installed, together
# with the headers that they include.

include(GNUInstallDirs)
include(GoogleTest)

# What nearly every file includes from the standard library.
set(HEADGATE_STANDARD_HEADERS <algorithm> <array> <cstdint> <functional> <map> <memory> <optional>
                              <span> <string> <string_view> <utility> <vector>)

# Declares to `layers` what a room may include.
function(headgate_declare_room name)
  cmake_parse_arguments(ROOM "" "FLOOR" "USES;THIRD_PARTIES;APART" ${ARGN})
  foreach(list USES THIRD_PARTIES APART)
    string(REPLACE ";" "," ${list} "${ROOM_${list}}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HEADGATE_ROOMS
    "${name}:${ROOM_FLOOR}:${USES}:${THIRD_PARTIES}:${APART}")
endfunction()

# Precompiles the standard headers and those named, where the target has enough files to gain by it.
# The preset tsan does without, so that a file that forgets an #include does not compile there.
function(headgate_precompile target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(LENGTH sources count)
  if(HEADGATE_PRECOMPILE AND count GREATER 3)
    target_precompile_headers(${target} PRIVATE ${HEADGATE_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# For tests, whose own speed does not matter. UndefinedBehaviorSanitizer watches the libraries.
function(headgate_compile_fast target)
  target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
  if(HEADGATE_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
endfunction()

function(headgate_room name)
  cmake_parse_arguments(ROOM "HEADERS_CHECKED" "FLOOR"
    "USES;THIRD_PARTIES;APART;PUBLIC;LINKS;EXCEPT;PRECOMPILE;TEST_LINKS;TEST_PRECOMPILE" ${ARGN})
  headgate_declare_room(${name} FLOOR ${ROOM_FLOOR} USES ${ROOM_USES}
    THIRD_PARTIES ${ROOM_THIRD_PARTIES} APART ${ROOM_APART})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cc *.h)
  foreach(except testing ${ROOM_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${except}(/|$)")
  endforeach()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")

  set(target headgate_${name})
  add_library(${target} STATIC ${sources})
  add_library(headgate::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  list(TRANSFORM ROOM_PUBLIC PREPEND headgate/${name}/)
  set_property(GLOBAL APPEND PROPERTY HEADGATE_PUBLIC_HEADERS ${ROOM_PUBLIC})
  foreach(used ${ROOM_USES})
    target_link_libraries(${target} PUBLIC headgate::${used})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ROOM_LINKS})
  headgate_precompile(${target} ${ROOM_PRECOMPILE})

  if(HEADGATE_TESTS AND tests)
    find_package(GTest REQUIRED)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${target} GTest::gmock GTest::gtest_main
                                               ${ROOM_TEST_LINKS} headgate_source_tree)
    headgate_precompile(${name}_test <gtest/gtest.h> <gmock/gmock.h> ${ROOM_TEST_PRECOMPILE})
    if(NOT ROOM_HEADERS_CHECKED)
      headgate_compile_fast(${name}_test)
    endif()
    set(cases 500)  # of each property that RapidCheck tests
    if(CMAKE_CROSSCOMPILING)
      set(cases 20)  # an imitated processor is slow
    endif()
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${name} ENVIRONMENT RC_PARAMS=max_success=${cases})
  endif()
endfunction()
