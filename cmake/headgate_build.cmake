# Compiler and linker settings shared by every target.

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A clone elsewhere finds the same objects; depend mode spares a second preprocessing.
  # Precompiled headers need these two liberties. Any about the times of files would store objects
  # of headers that were edited while they were compiled, as those of the edited headers.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)  # the same bytes wherever it is built
find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

# headgate/store/processor.h swaps 128 bits at once.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-mcx16)  # cmpxchg16b
  set(control_flow -fcf-protection)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(control_flow -mbranch-protection=standard)
else()
  message(FATAL_ERROR "headgate's table needs the 128-bit compare-and-swap of x86-64 or arm64; "
                      "this machine is ${CMAKE_SYSTEM_PROCESSOR}")
endif()

add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 and 14 see overlaps and overruns in std::string's own code at -O3.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                      -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # g++ has the first only on demand, and takes a lambda's attributes in C++20.
  add_compile_options(-Wno-sign-conversion -Wno-c++2b-extensions)
endif()
if(HEADGATE_WERROR)
  add_compile_options(-Werror)
endif()
if(HEADGATE_SANITIZE)
  add_compile_options(-fsanitize=${HEADGATE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEADGATE_SANITIZE})
  # libstdc++ checks indexes, and that an optional has a value: AddressSanitizer does not see an index
  # behind the end of a view that is inside of the text it is a view of.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(HEADGATE_HARDEN AND NOT HEADGATE_SANITIZE)
  # What makes a fault in memory hard to exploit. `tests/hardening` reads the built files.
  # _FORTIFY_SOURCE needs an optimised build.
  add_compile_options(-fstack-protector-strong -fstack-clash-protection ${control_flow})
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
