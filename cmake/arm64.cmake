# CMake's toolchain file for 64-bit ARM: compiles on x86-64 with Debian's cross compiler, and runs
# tests with qemu. HEADGATE_SYSROOT is a Debian system with the libraries (packaging/arm64_root makes
# it), HEADGATE_CPU the processor that qemu imitates.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEADGATE_SYSROOT HEADGATE_CPU)
set(HEADGATE_SYSROOT "" CACHE PATH "A Debian system for arm64")
set(HEADGATE_CPU max CACHE STRING "What qemu-aarch64 -cpu takes")
set(CMAKE_SYSROOT ${HEADGATE_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu ${HEADGATE_CPU} -L ${HEADGATE_SYSROOT})

# Programs such as protoc are those of this machine; everything else is the system's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HEADGATE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${HEADGATE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HEADGATE_SYSROOT}/usr/share/pkgconfig)

set(NGINX_SOURCE ${HEADGATE_SYSROOT}/usr/share/nginx/src CACHE PATH "nginx sources as nginx-dev installs them")
