// Reads whole files, and tells files apart.
#pragma once

#include <cstddef>
#include <string>

#include "headgate/base/result.h"

namespace headgate {

// Returns the content of a regular file, of a longer one the first size_max + 1 bytes. Opens
// nothing that could block for ever, such as a named pipe. Errors: the end of a sentence that
// starts with the file's name. Throws std::bad_alloc.
[[nodiscard]] Result<std::string, std::string> read_regular_file(const std::string& path,
                                                                 std::size_t size_max);

// Whether both names are equal, perhaps empty, or of one file, as `table` and `./table` are.
[[nodiscard]] bool is_same_file(const std::string& one, const std::string& other);

}  // namespace headgate
