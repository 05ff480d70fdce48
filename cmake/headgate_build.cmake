# Compiler and linker settings shared by every target.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A clone elsewhere finds the same objects; depend mode spares a second preprocessing.
  # Precompiled headers are compared by content, not by the time of the files in them.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)  # the same bytes wherever it is built
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  message(FATAL_ERROR "headgate's table needs the 128-bit compare-and-swap of x86-64; "
                      "this machine is ${CMAKE_SYSTEM_PROCESSOR}")
endif()
add_compile_options(-mcx16)  # cmpxchg16b: the table's one atomic step

add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 and 14 see overlaps and overruns in std::string's own code at -O3.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                      -Wno-stringop-overread)
endif()
if(HEADGATE_WERROR)
  add_compile_options(-Werror)
endif()
if(HEADGATE_SANITIZE)
  add_compile_options(-fsanitize=${HEADGATE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEADGATE_SANITIZE})
endif()
if(HEADGATE_HARDEN AND NOT HEADGATE_SANITIZE)
  # What makes a fault in memory hard to exploit. `tests/hardening` reads the built files.
  # _FORTIFY_SOURCE needs an optimised build.
  add_compile_options(-fstack-protector-strong -fstack-clash-protection -fcf-protection)
  add_compile_options(
    "SHELL:$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>")
  add_link_options(-Wl,-z,relro,-z,now)
  include(CheckPIESupported)
  check_pie_supported()  # programs are linked as the rooms are compiled: position-independent
endif()
if(HEADGATE_SANITIZE MATCHES "thread")
  # Asio's fences, which ThreadSanitizer can't follow, are beside the locks of its queues.
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
