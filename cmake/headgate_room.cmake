# headgate_room(NAME SOURCES ... HEADERS ... TESTS ... USES room... LINKS target...)
#
# One room = one folder = one library headgate::NAME = one test binary NAME_test.
# USES names the only rooms whose headers this one may include; the ctest `layers` holds every
# #include against it (cmake/check_layers.py). LINKS names third parties, which stay in one room.

include(GNUInstallDirs)
include(GoogleTest)
set_property(GLOBAL PROPERTY HEADGATE_LAYERS "")

function(headgate_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;HEADERS;TESTS;USES;LINKS;TEST_LINKS" ${ARGN})
  set(target headgate_${name})
  add_library(${target} STATIC ${ROOM_SOURCES} ${ROOM_HEADERS})
  add_library(headgate::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set(headers ${ROOM_HEADERS})
  list(TRANSFORM headers PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX HEADGATE_HEADERS "${headers}")
  foreach(used ${ROOM_USES})
    target_link_libraries(${target} PUBLIC headgate::${used})
  endforeach()
  target_link_libraries(${target} PUBLIC ${ROOM_LINKS})

  string(REPLACE ";" "," uses "${ROOM_USES}")
  set_property(GLOBAL APPEND PROPERTY HEADGATE_LAYERS "${name}:${uses}")

  if(HEADGATE_TESTS AND ROOM_TESTS)
    find_package(GTest REQUIRED)
    add_executable(${name}_test ${ROOM_TESTS})
    target_link_libraries(${name}_test PRIVATE ${target} GTest::gmock GTest::gtest_main
                                               ${ROOM_TEST_LINKS} headgate_source_tree)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${name} ENVIRONMENT RC_PARAMS=max_success=500)
  endif()
endfunction()
