# Writes files into a C++ source as headgate::server::assets():
#   cmake -D OUT=FILE.cc -D FILES="a.html;b.css" -P embed.cmake
# A file is served at /NAME, index.html at /. Its tag is the beginning of its SHA-256.

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")

set(bodies "")
set(rows "")
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
  string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")  # a line a line
  set(path /${name})
  if(name STREQUAL index.html)
    set(path /)
  endif()
  string(APPEND bodies "constexpr char ${id}[] = {\n${bytes}\n};\n")
  string(APPEND rows "    {\"${path}\", \"${type_${extension}}\", R\"(\"${tag}\")\", {${id}, ${size}}},\n")
endforeach()

file(WRITE ${OUT} "// Made by cmake/embed.cmake.
#include \"headgate/server/http/asset.h\"

namespace headgate::server {
namespace {

${bodies}
constexpr Asset embedded[] = {
${rows}};

}  // namespace

std::span<const Asset> assets() noexcept { return embedded; }

}  // namespace headgate::server
")
