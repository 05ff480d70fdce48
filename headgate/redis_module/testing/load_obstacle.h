// Whether redis-server can load a module that is compiled as these tests are.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace headgate::redis_module {

// Why it cannot; "" if it can. A module with AddressSanitizer needs its library before all others,
// and Redis from 8 on asks jemalloc for memory by names that the library does not know.
inline std::string load_obstacle() {
#ifdef HEADGATE_CROSSCOMPILED
  return "redis-server is for another processor";
#else
  if (*HEADGATE_PRELOAD == '\0') return {};
  char said[128] = "";
  if (FILE* const version = popen("redis-server --version", "r")) {
    if (std::fgets(said, sizeof said, version) == nullptr) said[0] = '\0';
    pclose(version);
  }
  const std::string words = said;
  const std::size_t at = words.find(" v=");
  const int major = at == std::string::npos ? 0 : std::atoi(words.c_str() + at + 3);
  if (major < 8) return {};
  return "redis-server " + std::to_string(major) + " ends at its start with AddressSanitizer";
#endif
}

}  // namespace headgate::redis_module
