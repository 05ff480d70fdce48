# Writes files into a C++ source that defines a function. headgate_embed() runs it:
#   cmake -D OUT=FILE.cc -D FUNCTION=a::b::name -D HEADER=header -D FILES="a.html;b.css" -P embed.cmake
#
# With a HEADER the function returns the files' text, one after the other. Otherwise it returns web assets: the name
# of index.html is empty. A file's tag is the beginning of its SHA-256.

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(arrays "")
set(assets "")
set(all_bytes "")
set(all_size 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  string(MAKE_C_IDENTIFIER ${name} id)
  file(SIZE ${file} size)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 16 tag)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")  # a line of C++ per line of the file
  string(APPEND all_bytes "${bytes}\n")
  math(EXPR all_size "${all_size} + ${size}")
  if(name STREQUAL index.html)
    set(name "")
  endif()
  string(APPEND arrays "constexpr char ${id}[] = {\n${bytes}\n};\n")
  string(APPEND assets "    {\"${name}\", \"${type_${extension}}\", R\"(\"${tag}\")\", {${id}, ${size}}},\n")
endforeach()

string(REGEX REPLACE "::[^:]*$" "" namespace ${FUNCTION})
string(REGEX REPLACE ".*::" "" name ${FUNCTION})
if(HEADER)
  set(arrays "constexpr char text[] = {\n${all_bytes}};\n")
  set(signature "std::string_view ${name}() noexcept { return {text, ${all_size}}; }")
else()
  set(HEADER headgate/view/asset.h)
  string(APPEND arrays "constexpr Asset embedded[] = {\n${assets}};\n")
  set(signature "std::span<const Asset> ${name}() noexcept { return embedded; }")
endif()

file(WRITE ${OUT} "// Made by cmake/embed.cmake.
#include \"${HEADER}\"

namespace ${namespace} {
namespace {

${arrays}
}  // namespace

${signature}

}  // namespace ${namespace}
")
