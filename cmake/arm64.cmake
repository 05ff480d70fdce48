# CMake's toolchain file for 64-bit ARM: compiles on x86-64 with Debian's cross compiler, against the
# system that packaging/arm64_root makes, and runs tests with qemu. The variable QEMU_CPU says which
# processor that imitates.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

cmake_path(SET CMAKE_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/roots/arm64-system)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})

# Programs such as protoc are those of this machine; everything else is the system's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(packages ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig ${CMAKE_SYSROOT}/usr/share/pkgconfig)
cmake_path(CONVERT "${packages}" TO_NATIVE_PATH_LIST packages)
set(ENV{PKG_CONFIG_LIBDIR} "${packages}")

set(NGINX_SOURCE ${CMAKE_SYSROOT}/usr/share/nginx/src
  CACHE PATH "nginx sources as nginx-dev installs them")
