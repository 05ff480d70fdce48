// Reads a descriptor that another process may have made non-blocking.
#pragma once

#include <sys/types.h>

#include <span>

namespace headgate {

// As read(2), but waits for input also if the descriptor does not block, as Node and ssh pass
// standard input on, and continues after a signal. Returns the number of bytes that were read, 0 at
// the end, or -1 with errno.
[[nodiscard]] ssize_t patient_read(int descriptor, std::span<char> out) noexcept;

}  // namespace headgate
