// Whether tests with several processes can run in this build. Linked into tests only.
#pragma once

namespace headgate::store {

// Whether this build's 128-bit swaps are atomic between processes, and the reason to skip a test if
// they are not.
#ifdef __SANITIZE_THREAD__
inline constexpr bool swaps_between_processes = false;
#else
inline constexpr bool swaps_between_processes = true;
#endif
inline constexpr const char* no_swaps_between_processes =
    "ThreadSanitizer makes 128-bit swaps under a lock that other processes can't see; the other "
    "builds run this";

}  // namespace headgate::store
