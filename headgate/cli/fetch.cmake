# `headgate fetch`: the only part that speaks HTTP through libcurl.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl>=7.85)
find_package(nlohmann_json REQUIRED)
add_library(headgate_fetch STATIC
  fetch.cc fetch_directory.cc fetch_name.cc fetch_progress.cc fetch_report.cc fetch_sink.cc
  fetch_stdout.cc fetch_transfer.cc fetch_url.cc fetcher.cc
  fetch.h fetch_directory.h fetch_name.h fetch_progress.h fetch_report.h fetch_sink.h
  fetch_stdout.h fetch_transfer.h fetch_url.h fetcher.h)
target_compile_definitions(headgate_fetch PRIVATE HEADGATE_VERSION="${PROJECT_VERSION}")
target_link_libraries(headgate_fetch PUBLIC headgate_cli headgate::client CLI11::CLI11
                                            PkgConfig::CURL nlohmann_json::nlohmann_json)
target_link_libraries(headgate PRIVATE headgate_fetch)

if(HEADGATE_TESTS)
  find_package(GTest REQUIRED)
  add_executable(fetch_test fetch_name_test.cc fetch_progress_test.cc fetch_url_test.cc)
  target_link_libraries(fetch_test PRIVATE headgate_fetch GTest::gmock GTest::gtest_main)
  gtest_discover_tests(fetch_test TEST_PREFIX cli. DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS cli)
endif()
